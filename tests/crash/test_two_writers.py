"""Tests two processes that write one multifile.

The open of the second process must fail while the first process lives, and must succeed at once after the first
process was killed. If a stopped process resumes after a takeover, the calls of all its tasks must fail and change
nothing."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BIN = pathlib.Path(os.environ["SHEAF_BIN"])
MPIRUN = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "mpirun.sh"
PROGRAM = [sys.executable, "-B", str(pathlib.Path(__file__).resolve().parent / "living_program.py")]
CHUNK = 4096


class Writer:
    """A process that runs living_program.py. Its answers are numbers."""

    def __init__(self, path: pathlib.Path, mode: str, tasks: int = 1, **environment: str) -> None:
        self.process = subprocess.Popen([*PROGRAM, path, mode, str(tasks), str(CHUNK)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, env=dict(os.environ, **environment))
        self.opened = int(self.process.stdout.readline())

    def tell(self, *words: object) -> int:
        print(*words, file=self.process.stdin, flush=True)
        return int(self.process.stdout.readline())

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def end(self) -> str:
        """Waits for the end of the program and returns its stderr."""
        return self.process.communicate(timeout=120)[1]


class Job:
    """A job that runs living_program.py under Open MPI."""

    def __init__(self, path: pathlib.Path, mode: str, tasks: int, pipes: pathlib.Path) -> None:
        pipes.mkdir()
        for rank in range(tasks):
            os.mkfifo(pipes / f"in.{rank}")
            os.mkfifo(pipes / f"out.{rank}")
        self.process = subprocess.Popen([MPIRUN, "openmpi", str(tasks), *PROGRAM, path, mode, "1", str(CHUNK)], stderr=subprocess.PIPE,
                                        text=True, env=dict(os.environ, PIPES=str(pipes)))
        self.commands = [open(pipes / f"in.{rank}", "w") for rank in range(tasks)]
        self.answers = [open(pipes / f"out.{rank}") for rank in range(tasks)]
        self.pids = [int(answer.readline()) for answer in self.answers]
        self.opened = [int(answer.readline()) for answer in self.answers]

    def tell(self, ranks: list[int], *words: object) -> list[int]:
        for rank in ranks:
            print(*words, file=self.commands[rank], flush=True)
        return [int(self.answers[rank].readline()) for rank in ranks]

    def kill(self) -> None:
        for pid in self.pids:
            os.kill(pid, signal.SIGKILL)
        self.end()

    def end(self) -> str:
        """Waits for the end of the job and returns its stderr."""
        for pipe in [*self.commands, *self.answers]:
            pipe.close()
        return self.process.communicate(timeout=120)[1]


class TwoWriters(unittest.TestCase):
    def setUp(self) -> None:
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="sheaf-two-"))
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)
        self.path = self.scratch / "a.sion"
        self.lease = self.scratch / "a.sion.lease"
        self.writers: list[Writer | Job] = []
        self.addCleanup(lambda: [writer.kill() for writer in self.writers if writer.process.poll() is None])

    def writer(self, mode: str = "wb", tasks: int = 1, **environment: str) -> Writer:
        self.writers.append(Writer(self.path, mode, tasks, **environment))
        return self.writers[-1]

    def complete(self, tasks: int = 1) -> None:
        writer = self.writer(tasks=tasks)
        for task in range(tasks):
            self.assertEqual(writer.tell("write", task, "a", 3000), 3000)
        self.assertEqual(writer.tell("close"), 1)
        writer.end()

    def stream(self, task: int = 0) -> str:
        result = subprocess.run([str(BIN / "sheaf"), "cat", f"--task={task}", str(self.path)], capture_output=True, text=True, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def files(self) -> list[str]:
        return sorted(os.listdir(self.scratch))

    def test_the_second_is_refused_while_the_first_lives(self) -> None:
        for mode in ("wb", "append", "wb,atomic"):
            with self.subTest(mode=mode):
                self.complete()
                expected = "a" * 3000 if mode == "append" else ""
                first = self.writer(mode)
                self.assertEqual(first.tell("write", 0, "b", 3000), 3000)
                before = {path.name: path.read_bytes() for path in self.scratch.iterdir()}
                for other in ("wb", "append", "wb,atomic"):
                    second = self.writer(other)
                    self.assertEqual(second.opened, -1, other)
                    self.assertIn(f"is being written by process {first.process.pid} on host", second.end())
                self.assertEqual({path.name: path.read_bytes() for path in self.scratch.iterdir()}, before)
                self.assertEqual(first.tell("close"), 1)
                first.end()
                self.assertEqual(self.stream(), expected + "b" * 3000)
                self.assertEqual(self.files(), ["a.sion"])

    def test_one_that_was_killed_is_no_obstacle(self) -> None:
        for mode in ("wb", "append", "wb,atomic"):
            with self.subTest(mode=mode):
                self.complete()
                first = self.writer(mode)
                first.tell("write", 0, "b", 100)
                first.kill()
                self.assertTrue(self.lease.exists())
                begin = time.monotonic()
                second = self.writer(mode)
                self.assertGreaterEqual(second.opened, 0, second.process.poll())
                self.assertLess(time.monotonic() - begin, 15, "it need not watch")
                self.assertEqual(second.tell("write", 0, "c", 3000), 3000)
                self.assertEqual(second.tell("close"), 1)
                self.assertEqual(second.end(), "")
                self.assertTrue(self.stream().endswith("c" * 3000))
                self.assertFalse(self.lease.exists())

    def test_one_that_was_stopped_and_wakes_after_a_take_over_fails(self) -> None:
        for mode in ("wb", "wb,durable", "wb,journal=off", "append"):
            with self.subTest(mode=mode):
                self.complete()
                first = self.writer(mode)
                self.assertEqual(first.tell("write", 0, "b", 3 * CHUNK), 3 * CHUNK)
                self.assertEqual(first.tell("flush"), 1)
                first.tell("write", 0, "b", 3000)
                first.process.send_signal(signal.SIGSTOP)
                self.assertEqual(self.writer("wb").opened, -1, "it lives")
                second = self.writer("wb,steal")
                self.assertGreaterEqual(second.opened, 0)
                second.tell("write", 0, "c", 3 * CHUNK)
                second.tell("flush")
                first.process.send_signal(signal.SIGCONT)
                self.assertEqual(first.tell("flush"), 0)
                first.tell("write", 0, "b", 10 * CHUNK)
                self.assertEqual(first.tell("close"), 0)
                self.assertIn(f"process {second.process.pid} on host", first.end())
                second.tell("write", 0, "d", 3000)
                self.assertEqual(second.tell("close"), 1)
                self.assertIn("taken over", second.end())
                self.assertEqual(self.stream(), "c" * 3 * CHUNK + "d" * 3000)
                self.assertEqual(self.files(), ["a.sion"])

    def test_no_task_of_an_append_writes_after_a_take_over(self) -> None:
        if not (BIN.parent / "lib" / "openmpi" / "libsheaf_mpi.so").exists():
            self.skipTest("needs Open MPI")
        for mode in ("append", "append,durable", "append,journal=off"):
            with self.subTest(mode=mode):
                self.complete(tasks=2)
                job = Job(self.path, mode, 2, self.scratch / mode)
                self.writers.append(job)
                self.assertTrue(min(job.opened) >= 0)
                self.assertEqual(job.tell([0, 1], "write", 0, "b", 1000), [1000, 1000])
                os.kill(job.pids[1], signal.SIGSTOP)
                second = self.writer("append,steal", tasks=2)
                self.assertGreaterEqual(second.opened, 0)
                for task in 0, 1:
                    self.assertEqual(second.tell("write", task, "c", 3 * CHUNK), 3 * CHUNK)
                self.assertEqual(second.tell("flush"), 1)
                os.kill(job.pids[1], signal.SIGCONT)
                self.assertEqual(job.tell([1], "write", 0, "b", 40 * CHUNK), [0], "the task wakes, and writes nothing")
                self.assertEqual(job.tell([1], "flush"), [0])
                self.assertEqual(job.tell([0], "flush"), [0])
                self.assertEqual(second.tell("write", 1, "d", 3000), 3000)
                self.assertEqual(job.tell([0, 1], "close"), [0, 0])
                self.assertEqual(second.tell("close"), 1)
                self.assertIn(f"process {second.process.pid} on host", job.end())
                second.end()
                self.assertEqual(self.stream(0), "a" * 3000 + "c" * 3 * CHUNK)
                self.assertEqual(self.stream(1), "a" * 3000 + "c" * 3 * CHUNK + "d" * 3000)
                self.assertFalse(self.lease.exists())

    def test_what_another_host_has_left_is_waited_for(self) -> None:
        self.complete()
        first = self.writer()
        first.tell("write", 0, "b", 3000)
        lines = self.lease.read_text().split("\n")
        first.kill()
        other = {"host": "host elsewhere", "boot": "boot another"}
        self.lease.write_text("\n".join(other.get(line.split(" ")[0], line) for line in lines)[:512].ljust(512, "\n"))
        begin = time.monotonic()
        second = self.writer(SHEAF_LEASE_TIMES="300,1500")
        self.assertGreaterEqual(second.opened, 0)
        self.assertGreater(time.monotonic() - begin, 1.5)
        second.tell("write", 0, "c", 3000)
        self.assertEqual(second.tell("close"), 1)
        self.assertIn("no sign of life", second.end())
        self.assertEqual(self.stream(), "c" * 3000)

    def test_where_no_lease_can_be_made_the_open_warns_once(self) -> None:
        if os.geteuid() != 0:
            self.skipTest("needs root")
        self.complete()
        self.path.chmod(0o666)
        self.scratch.chmod(0o755)
        first = self.writer("append,journal=off", AS_USER="65534")
        self.assertGreaterEqual(first.opened, 0)
        self.assertEqual(first.tell("write", 0, "b", 3000), 3000)
        self.assertEqual(first.tell("close"), 1)
        self.assertEqual(first.end().count("without a lease"), 1)
        self.assertEqual(self.stream(), "a" * 3000 + "b" * 3000)

    def test_repair_keeps_writers_away_and_is_kept_away_by_them(self) -> None:
        first = self.writer()
        first.tell("write", 0, "b", 3 * CHUNK)
        first.tell("flush")
        repair = [str(BIN / "sheaf"), "repair"]
        self.assertEqual(subprocess.run([*repair, str(self.path)], capture_output=True, check=False).returncode, 1)
        forced = subprocess.run([*repair, "--force", str(self.path)], capture_output=True, text=True, check=False)
        self.assertEqual(forced.returncode, 0, forced.stderr)
        self.assertEqual(first.tell("flush"), 0, "its lease was taken over")
        self.assertEqual(first.tell("close"), 0)
        first.end()
        self.assertEqual(self.stream(), "b" * 3 * CHUNK)
        self.assertEqual(self.files(), ["a.sion"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
