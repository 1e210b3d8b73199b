"""Kills MPI programs while they save steps under one name with `atomic`, or in the background with `async`.

After each kill, readers must find one complete step: the last reported step or a later one. The next program
continues from this step. The first kills hit each rename of a commit once, and the others random moments.
COMMIT_KILLS: number of random kills for each MPI (default 4; `make soak`: 300).
KILL_SEED: seed for the moments of the kills."""
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
from sheaf_format import Multifile  # noqa: E402

BIN = pathlib.Path(os.environ["SHEAF_BIN"])
MPIRUN = ROOT / "scripts" / "mpirun.sh"
KILLS = int(os.environ.get("COMMIT_KILLS", "4"))
SEED = int(os.environ.get("KILL_SEED", "1"))
FILES = [["1"], ["2"], ["5"], ["2", "1", "5", "5"]]
TASKS, PAIRS = 5, 1500


def descendants(pid: int) -> list[int]:
    """Returns all descendants of a process, read from /proc."""
    found, todo = [], [pid]
    while todo:
        try:
            text = pathlib.Path(f"/proc/{todo[0]}/task/{todo[0]}/children").read_text()
        except OSError:
            text = ""
        own = [int(word) for word in text.split()]
        todo = todo[1:] + own
        found += own
    return found


def writers_below(pid: int) -> list[int]:
    """Returns the descendants that are tasks of commit_writer."""
    result = []
    for child in descendants(pid):
        try:
            if "commit_writer" in os.readlink(f"/proc/{child}/exe"):
                result.append(child)
        except OSError:
            pass
    return result


def kill(pids: list[int]) -> None:
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


class CommitKills(unittest.TestCase):
    WORDS = "atomic"

    def setUp(self) -> None:
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="sheaf-commit-"))
        self.path = self.directory / "step"
        self.last = 0  # last step that a program reported

    def tearDown(self) -> None:
        shutil.rmtree(self.directory, ignore_errors=True)

    def start(self, mpi: str, files: list[str], at_rename: int = 0) -> subprocess.Popen[str]:
        environment = {**os.environ, "SAVE_WORDS": self.WORDS}
        if at_rename:
            environment["KILL_AT_RENAME"] = str(at_rename)
        writer = [BIN / f"commit_writer_{mpi}", self.path, str(self.last + 1), *files]
        return subprocess.Popen([MPIRUN, mpi, "2", *writer], text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                start_new_session=True, env=environment)

    def end(self, job: "subprocess.Popen[str]") -> None:
        """Kills the rest of a job and reads the steps that it has reported."""
        tasks = writers_below(job.pid)
        kill(tasks)
        try:
            os.killpg(job.pid, signal.SIGKILL)  # the process group that this test has started
        except ProcessLookupError:
            pass
        assert job.stdout is not None
        told = [int(line) for line in job.stdout.read().splitlines() if line.isdigit()]
        job.stdout.close()
        job.wait()
        deadline = time.time() + 20
        while any(pathlib.Path(f"/proc/{pid}/exe").exists() for pid in tasks) and time.time() < deadline:
            time.sleep(0.01)
        self.last = max([self.last, *told])

    def check(self) -> int:
        """Checks that all readers find the same complete step, and returns its number."""
        found = set()
        with Multifile(str(self.path)) as multifile:
            for task in range(TASKS):
                found.add((task, b"".join(multifile.stream(task))))
        steps = {struct.unpack_from("=q", stream)[0] for _, stream in found}
        self.assertEqual(len(steps), 1, f"streams of the steps {steps}")
        step = steps.pop()
        for task, stream in found:
            self.assertEqual(stream, struct.pack("=qq", step, task) * PAIRS, f"step {step}, task {task}")
        self.assertGreaterEqual(step, self.last)
        verified = subprocess.run([BIN / "sheaf", "verify", self.path], capture_output=True, text=True)
        self.assertEqual(verified.returncode, 0, verified.stdout + verified.stderr)
        task = step % TASKS
        said = subprocess.run([BIN / "sheaf", "cat", "--task", str(task), self.path], capture_output=True)
        self.assertEqual(said.stdout, struct.pack("=qq", step, task) * PAIRS, said.stderr)
        self.last = step
        return step

    def mpis(self) -> list[str]:
        found = [name for name in ("openmpi", "mpich") if (BIN / f"commit_writer_{name}").exists()]
        if not found:
            self.skipTest("no MPI")
        return found

    def test_at_every_rename(self) -> None:
        mpi = self.mpis()[0]
        for files in ["1"], ["2"], ["5"], ["2", "5"]:
            with self.subTest(files=files):
                self.tearDown()
                self.setUp()
                renames = [1 if count == "1" else int(count) + 1 for count in files]
                # The first program finds no old generation. Each later program must complete the commit of the
                # program that was killed before it.
                for at in range(1, 2 * sum(renames) + 1):
                    job = self.start(mpi, files, at)
                    job.wait(120)
                    self.end(job)
                    if at > 1 or self.path.exists():
                        self.check()
                left = [entry.name for entry in self.directory.iterdir()
                        if not entry.name.startswith("step.sheaf-tmp") and entry.name != "step.lease"]  # of the last killed program
                self.assertLessEqual(len(left), 5, left)

    def test_at_random_moments(self) -> None:
        for mpi in self.mpis():
            self.tearDown()
            self.setUp()
            in_commit = 0
            for number in range(KILLS):
                rng = random.Random(SEED * 1_000_000 + number)
                files = FILES[number % len(FILES)]
                with self.subTest(mpi=mpi, round=number, files=files, seed=SEED):
                    job = self.start(mpi, files)
                    assert job.stdout is not None
                    first = job.stdout.readline().strip()
                    self.assertTrue(first.isdigit(), "the program does not go on")
                    self.last = max(self.last, int(first))
                    time.sleep(rng.random() * 0.3)
                    tasks = writers_below(job.pid)
                    kill(tasks if number % 2 else rng.sample(tasks, min(1, len(tasks))))
                    time.sleep(rng.random() * 0.02)
                    self.end(job)
                    with open(self.path, "rb") as file:
                        in_commit += file.read(4) != b"sion"
                    self.check()
                for entry in self.directory.iterdir():  # of closes that were killed before their commit
                    if ".sheaf-tmp." in entry.name and not in_commit_of(entry, self.path):
                        entry.unlink()
            print(f"{mpi}: {KILLS} kills, {in_commit} of them between the renames of a commit", flush=True)


class SaveKills(CommitKills):
    """The commit is in the background, and the next program resumes what a killed one has left."""
    WORDS = "async"


def in_commit_of(entry: pathlib.Path, path: pathlib.Path) -> bool:
    """Returns whether a temporary file belongs to the generation of the record under `path`."""
    head = path.read_bytes()[:72]
    return not head.startswith(b"sion") and f".sheaf-tmp.{struct.unpack_from('<Q', head, 32)[0]:016x}" in entry.name


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
