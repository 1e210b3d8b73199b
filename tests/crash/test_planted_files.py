"""Plants objects under the names that the library would use for its own files.

The objects are links of every kind, pipes, sockets, directories, and files of the same or another user. They
are beside every name that a program or a tool gets. No planted object may change, and no program may hang.
Programs and tools must succeed, with a warning if they cannot use a feature because of the object. Other tests
use directories in which a program may not write.

Tests with files of another user are skipped unless they run as root."""
import contextlib
import json
import os
import pathlib
import resource
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import unittest

BIN = pathlib.Path(os.environ["SHEAF_BIN"])
HERE = pathlib.Path(__file__).resolve().parent
MPIRUN = HERE.parents[1] / "scripts" / "mpirun.sh"
PROGRAM = [sys.executable, "-B", str(HERE / "limited_program.py")]
PIECE = 30_000
PATIENCE = 120  # timeout of every command in seconds
OTHER = 65534   # a user other than the one that runs the tests
KINDS = ["link", "dangling", "hard", "pipe", "socket", "directory", "own", "other", "empty"]  # the last two belong to another user
TREASURE = b"what must not change\n" * 40


os.environ["SHEAF_LEASE_TIMES"] = "100,500"  # time that writers and repairs wait for the owner of a planted lease


def run(*command: object, **options: object) -> subprocess.CompletedProcess:
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=PATIENCE, check=False, **options)


def rules_of(capture: str) -> str:
    """Returns the part of a name that all jobs with this value of SHEAF_CAPTURE have in common."""
    number = 14695981039346656037
    for byte in f"{capture}\n".encode():
        number = (number ^ byte) * 1099511628211 % 2**64
    return f".{number:016x}."


class Planted(unittest.TestCase):
    def setUp(self) -> None:
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="sheaf-planted-"))
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)
        self.scratch.chmod(0o777)
        self.treasure = self.scratch / "treasure"
        self.treasure.write_bytes(TREASURE)

    @contextlib.contextmanager
    def planted(self, kind: str, where: pathlib.Path):
        """Plants an object of this kind under a name, and checks at the end that it has not changed. Every kind
        is one that a user with write access to the directory could create."""
        if kind == "link":
            where.symlink_to(self.treasure)
        elif kind == "dangling":
            where.symlink_to(self.scratch / "nothing")
        elif kind == "hard":
            os.link(self.treasure, where)
        elif kind == "pipe":
            os.mkfifo(where)
        elif kind == "socket":
            with socket.socket(socket.AF_UNIX) as endpoint:
                endpoint.bind(str(where))
        elif kind == "directory":
            where.mkdir()
        else:
            where.write_bytes(b"" if kind == "empty" else TREASURE)
            if kind in ("other", "empty"):
                where.chmod(0o666)
                os.chown(where, OTHER, OTHER)
        before = where.lstat()
        try:
            yield
            after = where.lstat()
            self.assertEqual((before.st_ino, before.st_mode, before.st_size, before.st_mtime_ns, before.st_uid, before.st_nlink),
                             (after.st_ino, after.st_mode, after.st_size, after.st_mtime_ns, after.st_uid, after.st_nlink), kind)
            self.assertEqual(self.treasure.read_bytes(), TREASURE, kind)
            self.assertFalse((self.scratch / "nothing").exists(), kind)
            if stat.S_ISREG(after.st_mode):
                self.assertEqual(where.read_bytes(), b"" if kind == "empty" else TREASURE, kind)
        finally:
            where.rmdir() if kind == "directory" else where.unlink()

    def remove(self, names: str) -> None:
        for left in self.scratch.glob(names):
            left.unlink()

    def kinds(self) -> list[str]:
        return KINDS if os.geteuid() == 0 else KINDS[:-2]

    def write(self, path: pathlib.Path, words: str, tasks: int = 1, **options: object) -> tuple[list[dict], str]:
        out = self.scratch / "told"
        start = [MPIRUN, "openmpi", str(tasks)] if tasks > 1 else []
        result = run(*start, *PROGRAM, "write", path, words, PIECE, 10, 3, 0, out, **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return [json.loads(out.with_suffix(f".{task}").read_text()) for task in range(tasks)], result.stderr

    def read(self, path: pathlib.Path) -> list[int]:
        result = run(*PROGRAM, "read", path, PIECE)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    # One program writes a file for each kind of planted object, because starting a program takes long.

    @contextlib.contextmanager
    def each_planted(self, name: str):
        """Plants every kind under `name`, in which * stands for the kind. Yields a path for each kind."""
        with contextlib.ExitStack() as stack:
            for kind in self.kinds():
                stack.enter_context(self.planted(kind, self.scratch / name.replace("*", kind)))
            yield {kind: self.scratch / kind for kind in self.kinds()}

    def write_each(self, paths: dict[str, pathlib.Path], words: str, tasks: int = 1) -> tuple[dict, dict]:
        """Writes to all paths. Returns, for each kind, the results of the tasks and the lines on stderr that
        name the file."""
        told, said = self.write(":".join(map(str, paths.values())), words, tasks)
        lines = {kind: [line for line in said.splitlines() if any(f"{path}{end}" in line for end in "'._")]
                 for kind, path in paths.items()}
        self.assertEqual(sum(map(len, lines.values())), len(said.splitlines()), said)
        return {kind: [of_task[number] for of_task in told] for number, kind in enumerate(paths)}, lines

    def read_each(self, paths: dict[str, pathlib.Path]) -> list[list[int]]:
        return self.read(":".join(map(str, paths.values())))

    def sheaf(self, *arguments: object) -> subprocess.CompletedProcess:
        return run(BIN / "sheaf", *arguments)


class BesideAMultifile(Planted):
    def test_its_journal(self) -> None:
        with self.each_planted("*.journal") as paths:
            told, said = self.write_each(paths, "wb")
            for kind in paths:
                with self.subTest(kind=kind):
                    self.assertIsNone(told[kind][0]["failed"], told)
                    self.assertEqual(len(said[kind]), 1, said)
                    self.assertIn("SION_ERROR_WARN", said[kind][0])
                    self.assertIn("without a journal", said[kind][0])
            self.assertEqual(self.read_each(paths), [[10 * PIECE]] * len(paths))
            # The planted object survives a second write, a verification and a repair.
            self.write_each(paths, "wb")
            for path in paths.values():
                self.assertEqual(self.sheaf("verify", path).returncode, 0)
                self.assertEqual(self.sheaf("repair", path).returncode, 0)
            durable, said = self.write_each(paths, "wb,durable")
            for kind in paths:
                with self.subTest(kind=kind):
                    # The failed write is not repeated, so the close fails too.
                    self.assertEqual((durable[kind][0]["failed"], durable[kind][0]["closed"]), ("write", 0), durable)
                    self.assertIn("journal=off", durable[kind][0]["error"])

    def test_its_lease(self) -> None:
        with self.each_planted("*.lease") as paths:
            told, said = self.write_each(paths, "wb")
            for kind, path in paths.items():
                with self.subTest(kind=kind):
                    self.assertIsNone(told[kind][0]["failed"], told)
                    self.assertEqual(len(said[kind]), 1, said)
                    self.assertIn("SION_ERROR_WARN", said[kind][0])
                    self.assertIn("without a lease", said[kind][0])
                    self.assertEqual(self.sheaf("repair", path).returncode, 0)
            self.assertEqual(self.read_each(paths), [[10 * PIECE]] * len(paths))

    def test_further_files_of_a_set(self) -> None:
        if not (BIN / "openmpi").exists():
            self.skipTest("no Open MPI")
        with self.each_planted("*.000001") as paths:
            told, _ = self.write_each(paths, "wb,files=2", 2)
            for kind, path in paths.items():
                with self.subTest(kind=kind):
                    self.assertEqual([task["failed"] for task in told[kind]], ["open", "open"], told)
                    self.assertTrue(all(f"{path}.000001" in task["error"] for task in told[kind]), told)
        for _ in ("new", "its own files are no obstacle"):
            told, _ = self.write_each(paths, "wb,files=2", 2)
            for kind in paths:
                self.assertEqual([task["failed"] for task in told[kind]], [None, None], told)
        self.assertEqual(self.read_each(paths), [[10 * PIECE] * 2] * len(paths))

    def test_buddy_copies(self) -> None:
        if not (BIN / "openmpi").exists():
            self.skipTest("no Open MPI")
        with self.each_planted("*_BUDDY_00") as paths:
            told, said = self.write_each(paths, "wb,files=2,buddy=1", 2)
            for kind in paths:
                with self.subTest(kind=kind):
                    self.assertEqual([task["failed"] for task in told[kind]], [None, None], told)
                    self.assertEqual(["a buddy copy is not made" in line for line in said[kind]], [True], said)
            self.assertEqual(self.read_each(paths), [[10 * PIECE] * 2] * len(paths))
        _, said = self.write_each(paths, "wb,files=2,buddy=1", 2)
        self.assertFalse(any(said.values()), said)
        for path in paths.values():
            self.assertEqual(self.sheaf("verify", f"{path}_BUDDY_00").returncode, 0)

    def test_temporary_files_of_tools(self) -> None:
        path = self.scratch / "a"
        self.write(path, "wb")
        unclosed = self.scratch / "unclosed"
        for kind in self.kinds():
            for command in (["defrag", path], ["split", path], ["repair", "--copy"]):
                with self.subTest(kind=kind, command=command[0]):
                    output = self.scratch / "out"
                    names = ["out.part", "out.part1", "out.000000.part"]
                    with contextlib.ExitStack() as stack:
                        for name in names:
                            stack.enter_context(self.planted(kind, self.scratch / name))
                        if command[0] == "repair":
                            shutil.copy(path, unclosed)
                            with open(unclosed, "r+b") as file:
                                file.seek(1076 + 16)
                                file.write(bytes(12))
                            result = self.sheaf(*command, output, unclosed)
                        else:
                            result = self.sheaf(*command, f"{output}." if command[0] == "split" else output)
                        self.assertEqual(result.returncode, 0, result.stderr)
                    self.remove("out*")


class CapturedFiles(Planted):
    """Plants objects in /dev/shm, where the library also creates the shared memory of a job."""

    def setUp(self) -> None:
        super().setUp()
        self.memory = pathlib.Path(tempfile.mkdtemp(prefix="sheaf-planted-", dir="/dev/shm"))
        self.addCleanup(shutil.rmtree, self.memory, ignore_errors=True)
        shutil.move(self.treasure, self.memory / "treasure")
        self.treasure = self.memory / "treasure"
        self.scratch = self.memory
        self.work = self.scratch / "work"
        self.work.mkdir()

    def capture(self, script: str = "echo secret > out.1; cat out.1") -> subprocess.CompletedProcess:
        return run(BIN / "sheaf", "run", "--keep-containers", "--capture", "out.*:set.sion", "--", "sh", "-c", script, cwd=self.work)

    def expect_plain(self, where: pathlib.Path, kinds: list[str]) -> None:
        """Checks that the program works on a plain file instead of the set."""
        for kind in kinds:
            with self.subTest(kind=kind, name=where.name), self.planted(kind, where):
                done = self.capture()
                self.assertEqual((done.returncode, done.stdout), (0, "secret\n"), done.stderr)
                self.assertEqual((self.work / "out.1").read_text(), "secret\n", done.stderr)
                self.assertIn("sheaf", done.stderr)
                (self.work / "out.1").unlink()

    def test_the_container(self) -> None:
        self.capture()
        container, = self.work.glob("set.sion.container.*")
        container.unlink()
        self.expect_plain(container, self.kinds())
        # A user's file that starts like an incomplete container.
        container.write_bytes(b"\0 results of a year")
        self.assertEqual(self.capture().returncode, 0)
        self.assertEqual(container.read_bytes(), b"\0 results of a year")

    def test_the_memory_of_a_container(self) -> None:
        self.capture()
        container, = self.work.glob("set.sion.container.*")
        status = container.stat()
        name = pathlib.Path(f"/dev/shm/sheaf-{os.geteuid():x}-{status.st_dev:x}-{status.st_ino:x}")
        name.unlink(missing_ok=True)  # left by killed processes with a container of the same inode number
        # The library uses a file of the same user, because killed processes may have left it.
        self.expect_plain(name, [kind for kind in self.kinds() if kind != "own"])

    def test_the_memory_of_a_job(self) -> None:
        done = self.capture("echo > out.1; exec 3< out.1; flock 3; echo $SHEAF_CAPTURE; ls /dev/shm")
        text, *listed = done.stdout.split()
        self.capture("rm out.1")
        # Names of other jobs are left out, because such jobs may run at the same time.
        own = [name for name in listed if rules_of(text) in name]
        names = [pathlib.Path("/dev/shm", name) for name in own if ".mark." not in name]
        self.assertGreaterEqual(len(names), 2, listed)
        for name in names:
            for kind in self.kinds():
                if kind in ("own", "directory"):
                    continue  # a file of the same user is used
                # A job of the superuser removes objects with the names of its memory. It removes a link
                # itself, not its target.
                with self.subTest(kind=kind, name=name.name), contextlib.suppress(FileNotFoundError), self.planted(kind, name):
                    done = self.capture()
                    self.assertEqual((done.returncode, done.stdout), (0, "secret\n"), done.stderr)
                    self.capture("rm -f out.1")
                self.assertEqual(self.treasure.read_bytes(), TREASURE)


class OutputsOfSplit(Planted):
    """Plants objects under output names that a tool derives from a prefix. With --force the tool must replace
    the objects, and must not follow links."""

    def expect_replaced(self, name: pathlib.Path, *command: object) -> None:
        for kind in ("link", "dangling", "hard", "other", "empty"):
            if kind not in self.kinds():
                continue
            with self.subTest(kind=kind):
                with contextlib.suppress(AssertionError, FileNotFoundError), self.planted(kind, name):
                    self.assertEqual(self.sheaf(*command).returncode, 1, "without --force")
                    self.assertEqual(self.treasure.read_bytes(), TREASURE)
                    done = self.sheaf(*command, "--force")
                    self.assertEqual(done.returncode, 0, done.stderr)
                    made = name.lstat()
                    self.replaced = stat.S_ISREG(made.st_mode) and made.st_uid == os.geteuid() and made.st_nlink == 1
                    self.replaced &= stat.S_IMODE(made.st_mode) != 0o666
                self.assertTrue(self.replaced)
                self.assertEqual(self.treasure.read_bytes(), TREASURE)
                self.assertFalse((self.scratch / "nothing").exists())

    def test_by_number(self) -> None:
        self.write(self.scratch / "a", "wb")
        self.expect_replaced(self.scratch / "part.00000", "split", self.scratch / "a", self.scratch / "part.")

    def test_by_name(self) -> None:
        work = self.scratch / "work"
        work.mkdir()
        run(BIN / "sheaf", "run", "--capture", "out.*:set.sion", "--", "sh", "-c", "echo secret > out.1", cwd=work)
        run(BIN / "sheaf", "run", "--capture", "d/*:deep.sion", "--", "sh", "-c", "mkdir d; echo secret > d/1", cwd=work)
        self.expect_replaced(self.scratch / "p.out.1", "split", "--names", work / "set.sion", self.scratch / "p.")
        elsewhere = self.scratch / "elsewhere"
        elsewhere.mkdir()
        (self.scratch / "p.d").symlink_to(elsewhere)
        done = self.sheaf("split", "--names", "--force", work / "deep.sion", self.scratch / "p.")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("is a symbolic link", done.stderr)
        self.assertEqual(os.listdir(elsewhere), [])


class WhereAProgramMayNotWrite(Planted):
    def as_other(self) -> dict:
        if os.geteuid() != 0:
            self.skipTest("another user needs root")
        return {"env": dict(os.environ, AS_USER=str(OTHER))}

    def test_a_directory(self) -> None:
        closed = self.scratch / "closed"
        closed.mkdir(mode=0o755)
        path = closed / "a"
        for words in ("wb", "wb,buffer=0", "wb,compress=lz4", "wb,durable"):
            with self.subTest(words=words):
                path.touch()
                path.chmod(0o666)
                told, said = self.write(path, words, **self.as_other())
                if "durable" in words:
                    # The failed write is not repeated, so the close fails too.
                    self.assertEqual((told[0]["failed"], told[0]["closed"]), ("write", 0), told)
                    self.assertIn("Permission denied", told[0]["error"])
                else:
                    self.assertIsNone(told[0]["failed"], told)
                    self.assertEqual(said.count("without a journal"), 1, said)
                    self.assertEqual(self.read(path), [told[0]["pieces"] * PIECE])
                self.assertEqual(os.listdir(closed), ["a"])

    def test_with_no_descriptor_left(self) -> None:
        # The limits cover the standard streams, the multifile, and descriptors that Python and the loader
        # hold briefly.
        for most in range(4, 12):
            path = self.scratch / str(most)
            out = self.scratch / "told"
            with contextlib.suppress(FileNotFoundError):
                out.with_suffix(".0").unlink()
            result = run(*PROGRAM, "write", path, "wb", PIECE, 10, 3, 0, out,
                         preexec_fn=lambda most=most: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)))
            if result.returncode != 0 or not out.with_suffix(".0").exists():
                continue
            told = json.loads(out.with_suffix(".0").read_text())
            if told["opened"]:
                # A flush fails if it cannot record the flushed bytes. After the close, every byte is in the
                # file.
                self.assertIn(told["failed"], (None, "flush"), told)
                self.assertEqual((told["closed"], self.read(path)), (1, [told["pieces"] * PIECE]), told)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
