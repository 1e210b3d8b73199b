"""The window of a commit.

Programs that save a set of several files with `atomic` are killed instead of each rename. Then every
interface and every tool finds one complete generation under the name. It is the old generation until the
commit record exists, and the new one afterwards, never a mixture."""
import hashlib
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Callable

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
BIN = pathlib.Path(os.environ["SHEAF_BIN"]).resolve()
os.environ.setdefault("SHEAF_LIBRARY", str(BIN.parent / "lib" / "libsheaf.so.1"))
import sheaf  # noqa: E402
from sheaf_format import Multifile  # noqa: E402

MPIRUN = ROOT / "scripts" / "mpirun.sh"
MPIS = [name for name in ("openmpi", "mpich") if (BIN / f"commit_writer_{name}").exists()]
FILES = [(2, 2), (2, 5), (5, 2), (1, 3), (3, 1), (4, 3)]  # numbers of files of the old and the new generation
TASKS, PAIRS = 5, 1500
NAME = "step"


def stream(step: int, task: int) -> bytes:
    return struct.pack("=qq", step, task) * PAIRS


def renames(files: int) -> int:
    """Returns the renames of a commit: one for each file, and one for the record if there are several files."""
    return files + 1 if files > 1 else 1


class Moment:
    """The directory of a program that was killed instead of rename `at` of its second commit."""

    def __init__(self, directory: pathlib.Path, files: tuple[int, int], at: int) -> None:
        self.directory, self.files, self.at = directory, files, at
        # The first rename puts the record in place. With one file, it puts the file itself in place.
        self.step = 1 if at == 1 else 2
        self.path = directory / NAME

    def __str__(self) -> str:
        return f"{self.files[0]} files to {self.files[1]}, killed in place of rename {self.at}"

    def copy(self, to: pathlib.Path) -> pathlib.Path:
        shutil.rmtree(to, ignore_errors=True)
        shutil.copytree(self.directory, to, symlinks=True)
        return to / NAME

    def finished(self, to: pathlib.Path) -> pathlib.Path:
        """Makes a copy in which the commit is complete, or not begun. The test moves the files as the format
        document describes."""
        path = self.copy(to)
        (to / f"{NAME}.lease").unlink(missing_ok=True)
        temporary = sorted(found for found in to.iterdir() if ".sheaf-tmp." in found.name)
        for file in temporary:
            if self.at == 1:
                file.unlink()
            elif file.suffix.lstrip(".").isdigit() and len(file.suffix) == 7:
                file.rename(to / (NAME + file.suffix))
            elif not file.name.endswith((".commit", ".lease")):
                file.rename(path)
        for number in range(self.files[self.step - 1], 10):
            (to / f"{NAME}.{number:06}").unlink(missing_ok=True)
        return path


class CommitWindow(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        if not MPIS:
            raise unittest.SkipTest("no MPI")
        cls.scratch = pathlib.Path(tempfile.mkdtemp(prefix="sheaf-window-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
        cls.addClassCleanup(shutil.rmtree, cls.scratch, ignore_errors=True)
        cls.moments = []
        jobs = []
        for old, new in FILES:
            for at in range(1, renames(new) + 1):
                directory = cls.scratch / f"{old}-{new}-{at}"
                directory.mkdir()
                cls.moments.append(Moment(directory, (old, new), at))
                # One rank, without a launcher. Step 1 has the last argument as its number of files.
                jobs.append((BIN / f"commit_writer_{MPIS[-1]}", directory / NAME, 1, new, old, renames(old) + at))
        for *command, at in jobs:
            killed = subprocess.run([str(part) for part in command], env={**os.environ, "KILL_AT_RENAME": str(at)}, capture_output=True,
                                    text=True, timeout=60)
            assert killed.stdout == "1\n", killed

    def each(self) -> list[Moment]:
        return self.moments

    def require(self, moment: Moment, interface: str, read: Callable[[int], bytes]) -> None:
        with self.subTest(moment=str(moment), interface=interface):
            for task in range(TASKS):
                self.assertEqual(hashlib.sha1(read(task)).hexdigest(), hashlib.sha1(stream(moment.step, task)).hexdigest(), f"task {task}")

    def test_there_is_a_window(self) -> None:
        """The kills hit the window; otherwise the other tests would be meaningless."""
        in_window = 0
        for moment in self.each():
            in_window += moment.path.read_bytes()[:4] != b"sion"
        self.assertEqual(in_window, sum(renames(new) - 1 for _, new in FILES if new > 1))

    def test_interfaces(self) -> None:
        by_path = {str(moment.path): moment for moment in self.each()}
        programs = {f"{mpi}, {tasks} tasks": ([MPIRUN, mpi, tasks] if tasks > 1 else []) + [BIN / f"commit_reader_{mpi}"]
                    for mpi, tasks in ((MPIS[0], TASKS), (MPIS[-1], 1))}
        programs["Fortran"] = [BIN / "commit_reader_fortran"]
        interfaces = {f"{MPIS[0]}, {TASKS} tasks": 8, f"{MPIS[-1]}, 1 tasks": 6, "Fortran": 1}
        for name, program in programs.items():
            if not program[-1].exists():
                continue
            with self.subTest(program=name):
                said = subprocess.run([str(part) for part in (*program, *by_path)], capture_output=True, text=True, timeout=120)
                lines = said.stdout.splitlines()
                self.assertEqual(len(lines), interfaces[name] * len(by_path), said.stdout + said.stderr)
                for line in lines:
                    path, found = line.split(" ", 1)
                    self.assertEqual(found.split()[-1], str(by_path[path].step), f"{by_path[path]}: {found}")

    def test_python(self) -> None:
        for moment in self.each():
            with sheaf.open(moment.path) as multifile:
                self.require(moment, "Python", lambda task: bytes(multifile[task].read()))
            with Multifile(str(moment.path)) as independent:
                self.require(moment, "independent reader", lambda task: b"".join(independent.stream(task)))

    def run_in(self, path: pathlib.Path, *command: object) -> subprocess.CompletedProcess:
        return subprocess.run([str(part) for part in command], cwd=path.parent, capture_output=True, timeout=60)

    def test_tools_that_look(self) -> None:
        """Tools that only read print the same as for the finished generation."""
        tools = [("sheaf", "info", NAME), ("sheaf", "verify", NAME), ("sheaf", "dump", NAME), ("sheaf", "dump", "--json", NAME),
                 ("sheaf", "cat", NAME), ("sheaf", "ls", NAME), ("sheaf", "repair", "--dry-run", NAME), ("siondump", "-a", NAME),
                 ("siondump", "-l", NAME), ("sioncat", NAME)]
        for moment in self.each():
            finished = moment.finished(self.scratch / "finished")
            for tool, *words in tools:
                with self.subTest(moment=str(moment), tool=[tool, *words]):
                    expected, found = (self.run_in(path, BIN / tool, *words) for path in (finished, moment.path))
                    self.assertEqual((found.returncode, found.stdout), (expected.returncode, expected.stdout), found.stderr)
            said = self.run_in(moment.path, BIN / "sheaf", "cat", NAME)
            self.assertEqual(said.stdout, b"".join(stream(moment.step, task) for task in range(TASKS)), said.stderr)

    def test_tools_that_copy(self) -> None:
        out = self.scratch / "out"
        for moment in self.each():
            for tool in (("sheaf", "split"), ("sionsplit",)):
                shutil.rmtree(out, ignore_errors=True)
                out.mkdir()
                said = self.run_in(moment.path, BIN / tool[0], *tool[1:], NAME, out / "t")
                with self.subTest(moment=str(moment), tool=tool):
                    self.assertEqual(said.returncode, 0, said.stderr)
                    self.assertEqual([file.read_bytes() for file in sorted(out.iterdir())], [stream(moment.step, task) for task in range(TASKS)])
            for tool in (("sheaf", "defrag"), ("siondefrag",), ("sheaf", "defrag", "--compress=lz4"), ("sheaf", "repair", "--copy", out / "copy")):
                shutil.rmtree(out, ignore_errors=True)
                out.mkdir()
                said = self.run_in(moment.path, BIN / tool[0], *tool[1:], NAME, *([] if "repair" in tool else [out / "copy"]))
                with self.subTest(moment=str(moment), tool=tool):
                    self.assertEqual(said.returncode, 0, said.stderr)
                    with Multifile(str(out / "copy")) as copy:
                        self.require(moment, str(tool), lambda task: b"".join(copy.plain_blocks(task)))

    def test_tools_that_change(self) -> None:
        """Tools that change the set leave one complete generation and no window."""
        for moment in self.each():
            for words in (("repair", NAME), ("defrag", "--force", NAME, NAME), ("leftovers", "--finish")):
                path = moment.copy(self.scratch / "changed")
                said = self.run_in(path, BIN / "sheaf", *words)
                with self.subTest(moment=str(moment), tool=words):
                    self.assertEqual(said.returncode, 0, said.stdout + said.stderr)
                    self.assertEqual(path.read_bytes()[:4], b"sion")
                    finished = Moment(path.parent, moment.files, moment.at)
                    # A generation that was complete before its commit keeps its temporary name until a user
                    # finishes it.
                    if words[0] == "leftovers":
                        finished.step = 2
                    with Multifile(str(path)) as multifile:
                        self.require(finished, str(words), lambda task: b"".join(multifile.plain_blocks(task)))
                    self.assertEqual(self.run_in(path, BIN / "sheaf", "verify", NAME).returncode, 0)

    def test_mount(self) -> None:
        if not (BIN / "sheaf-mount").exists() or not os.access("/dev/fuse", os.R_OK | os.W_OK) or os.geteuid() != 0:
            self.skipTest("nothing can be mounted")
        view = self.scratch / "view"
        view.mkdir()
        for moment in self.each():
            mounted = self.run_in(view, BIN / "sheaf", "mount", moment.path, view)
            try:
                with self.subTest(moment=str(moment)):
                    self.assertEqual(mounted.returncode, 0, mounted.stderr)
                    self.require(moment, "mount", lambda task: (view / f"task.{task:06}").read_bytes())
            finally:
                self.run_in(view, BIN / "sheaf", "umount", "--lazy", view)

    def test_programs_that_write(self) -> None:
        """An append continues the generation under the name; a new write replaces it."""
        for moment in self.each():
            path = moment.copy(self.scratch / "changed")
            with self.subTest(moment=str(moment), way="append"):
                with sheaf.open(path, "a") as multifile:
                    multifile[2].write(b"more")
                with Multifile(str(path)) as found:
                    for task in range(TASKS):
                        expected = stream(moment.step, task) + (b"more" if task == 2 else b"")
                        self.assertEqual(b"".join(found.stream(task)), expected, f"task {task}")
            path = moment.copy(self.scratch / "changed")
            with self.subTest(moment=str(moment), way="write"):
                with sheaf.open(path, "w", tasks=1) as multifile:
                    multifile[0].write(b"new")
                with sheaf.open(path) as multifile:
                    self.assertEqual(bytes(multifile[0].read()), b"new")


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
