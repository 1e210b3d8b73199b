"""Kills MPI programs at random moments. Readers must find the flushed bytes and the complete chunks of every task,
before and after `sheaf repair`.

KILL_ROUNDS: number of kills (default 30; `make soak`: 1,000). KILL_SEED: seed of the programs and of the moments
of the kills."""
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BIN = pathlib.Path(os.environ["SHEAF_BIN"])
MPIRUN = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "mpirun.sh"
ROUNDS = int(os.environ.get("KILL_ROUNDS", "30"))
SEED = int(os.environ.get("KILL_SEED", "1"))
WORDS = ["", "", "", "buffer=0", "buffer=100", "collective", "collective,collsize=2", "collective,collsize=4", "durable",
         "collective,collsize=2,durable", "compress=zstd,frame=4k", "compress=lz4,compress_threads=2",
         "compress=lz4,frame=4k,compress_threads=0", "compress=zstd,compress_threads=0", "collective,collsize=2,compress=lz4"]


def children_of(pid: int) -> list[int]:
    """Returns all descendants of a process, read from /proc."""
    found, todo = [], [pid]
    while todo:
        parent = todo.pop()
        try:
            text = pathlib.Path(f"/proc/{parent}/task/{parent}/children").read_text()
        except OSError:
            continue
        own = [int(word) for word in text.split()]
        found += own
        todo += own
    return found


def writers_below(pid: int) -> list[int]:
    result = []
    for child in children_of(pid):
        try:
            if "kill_writer" in os.readlink(f"/proc/{child}/exe"):
                result.append(child)
        except OSError:
            pass
    return result


class KillLoop(unittest.TestCase):
    def test_nothing_reported_is_lost(self) -> None:
        mpi = next((name for name in ("openmpi", "mpich") if (BIN / f"kill_writer_{name}").exists()), None)
        if mpi is None:
            self.skipTest("no MPI")
        for number in range(ROUNDS):
            with self.subTest(round=number, seed=SEED):
                self.round(mpi, random.Random(SEED * 1_000_000 + number))

    def round(self, mpi: str, rng: random.Random) -> None:
        tasks = rng.choice([1, 2, 3, 4]) if mpi == "openmpi" else rng.choice([1, 2])
        words = rng.choice(WORDS)
        directory = pathlib.Path(tempfile.mkdtemp(prefix="sheaf-kill-"))
        try:
            job = subprocess.Popen([MPIRUN, mpi, str(tasks), BIN / f"kill_writer_{mpi}", directory, str(rng.randrange(10**6)), words],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
            assert job.stdout is not None
            self.assertEqual(job.stdout.readline().strip(), b"ready")
            time.sleep(rng.random() ** 2 * 0.3)
            victims = writers_below(job.pid)
            rng.shuffle(victims)
            for pid in victims[:rng.randint(1, max(1, len(victims)))]:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(rng.random() * 0.02)
            os.killpg(job.pid, signal.SIGKILL)  # the process group that this test has started
            for pid in victims:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            job.wait()
            job.stdout.close()
            deadline = time.time() + 20
            while any(pathlib.Path(f"/proc/{pid}/exe").exists() for pid in victims) and time.time() < deadline:
                time.sleep(0.01)
            self.check(directory, tasks, "unrepaired", words)
            for path in sorted(directory.glob("m*")):
                if path.suffix == "" and path.name[1:].isdigit():
                    subprocess.run([BIN / "sheaf", "repair", path], capture_output=True, check=False)
            self.check(directory, tasks, "repaired", words)
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def check(self, directory: pathlib.Path, tasks: int, when: str, words: str) -> None:
        result = subprocess.run([BIN / "kill_check", directory, str(tasks), when], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, f"{when}, {tasks} tasks, '{words}':\n{result.stdout}{result.stderr}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
