"""Sends SIGTERM to MPI and hybrid programs with term=flush, directly or through mpirun. All tasks must die by the
signal. Readers must find all accepted bytes, before and after `sheaf repair`."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

BIN = pathlib.Path(os.environ["SHEAF_BIN"])
MPIRUN = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "mpirun.sh"
# Each case has the number of tasks, the threads of each task (0: no teams), and words of the open mode.
CASES = [(1, 0, ""), (3, 0, ""), (3, 0, "compress=zstd,frame=4k"), (3, 0, "durable"), (4, 0, "collective,collsize=2"),
         (2, 0, "fileptr=stream,checksums=off"), (2, 2, ""), (2, 2, "compress=lz4,compress_threads=1")]


def process_group(pid: int) -> list[int]:
    """Returns the writers among the descendants of a process, read from /proc."""
    found, todo = [], [pid]
    while todo:
        parent = todo.pop()
        try:
            children = pathlib.Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        except OSError:
            continue
        for child in map(int, children):
            todo.append(child)
            try:
                if "term_writer" in os.readlink(f"/proc/{child}/exe"):
                    found.append(child)
            except OSError:
                pass
    return found


class Term(unittest.TestCase):
    def test_what_was_written_is_there(self) -> None:
        mpi = next((name for name in ("openmpi", "mpich") if (BIN / f"term_writer_{name}").exists()), None)
        if mpi is None:
            self.skipTest("no MPI")
        # Several jobs run at a time, because each lasts as long as mpirun waits between TERM and KILL.
        with ThreadPoolExecutor(max_workers=4) as pool:
            ways = [(*case, ("tasks", "mpirun")[number % 2]) for number, case in enumerate(CASES)]
            rounds = [pool.submit(self.round, mpi, *way) for way in ways]
        for (tasks, threads, words, way), done in zip(ways, rounds):
            with self.subTest(tasks=tasks, threads=threads, words=words, way=way):
                done.result()

    def round(self, mpi: str, tasks: int, threads: int, words: str, way: str) -> None:
        directory = pathlib.Path(tempfile.mkdtemp(prefix="sheaf-term-"))
        # Open MPI waits this many seconds between TERM and KILL. Its default of 1 is too short on a busy host.
        environment = {**os.environ, "OMPI_MCA_odls_base_sigkill_timeout": "6"}
        try:
            job = subprocess.Popen([MPIRUN, mpi, str(tasks), BIN / f"term_writer_{mpi}", directory, words, str(threads)],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, start_new_session=True)
            assert job.stdout is not None
            self.assertEqual(job.stdout.readline().strip(), b"ready")
            time.sleep(0.05)
            if way == "mpirun":
                job.send_signal(signal.SIGTERM)
            else:
                for pid in process_group(job.pid):
                    os.kill(pid, signal.SIGTERM)
            _, said = job.communicate(timeout=120)
            self.assertNotEqual(job.returncode, 0)
            if way == "tasks" and mpi == "openmpi":
                self.assertIn(b"signal 15", said)  # the signal that ended the tasks
            for when in ("unrepaired", "repaired"):
                self.check(directory, tasks * max(1, threads), when)
                subprocess.run([BIN / "sheaf", "repair", directory / "m1"], capture_output=True, check=False)
        finally:
            if job.poll() is None:
                os.killpg(job.pid, signal.SIGKILL)  # the process group that this test has started
            shutil.rmtree(directory, ignore_errors=True)

    def check(self, directory: pathlib.Path, tasks: int, when: str) -> None:
        result = subprocess.run([BIN / "kill_check", directory, str(tasks), when], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, f"{when}:\n{result.stdout}{result.stderr}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
