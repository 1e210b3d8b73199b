"""Runs the programs of this directory: run.py MPI DIRECTORY_OF_PROGRAMS [TEST ...]."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MPI = sys.argv[1]
OPEN_MPI = MPI.startswith("openmpi")
BIN = Path(sys.argv[2]).resolve()
SECONDS = 240


class SfioPrograms(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        self.root = Path(self.place.name)

    def run_program(self, count, program, *words, code=0, **variables):
        """Runs a program; every listener has a directory of its own below `root`, as if it were a host."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("SHEAF_")}
        environment |= {"SHEAF_SFIO_ROOT": str(self.root)} | variables
        command = [ROOT / "scripts" / "mpirun.sh", MPI, count, BIN / program, *words]
        done = subprocess.run([str(word) for word in command], env=environment, capture_output=True, text=True, timeout=SECONDS)
        if code is not None:
            self.assertEqual(done.returncode, code, f"{command}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def calls(self, count, *words, **variables):
        self.assertIn("works", self.run_program(count, "sfio-calls", *words, **variables))

    def hosts(self, *names):
        for name in names:
            (self.root / name / "tmp").mkdir(parents=True, exist_ok=True)
        return ",".join(names)

    def contents(self, host, path):
        return (self.root / host / path).read_bytes()

    def until_they_work(self, tasks, *words, **variables):
        """Starts a job that need not end because a task may be dead. Returns the output when `tasks` tasks work."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("SHEAF_")}
        environment |= {"SHEAF_SFIO_ROOT": str(self.root)} | variables
        command = [str(word) for word in (ROOT / "scripts" / "mpirun.sh", MPI, tasks, *words)]
        with open(self.root / "said", "w+") as log:
            job = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
            try:
                for _ in range(SECONDS * 10):
                    said = (self.root / "said").read_text()
                    if said.count(" works") == tasks or job.poll() is not None:
                        break
                    time.sleep(0.1)
            finally:
                for path in self.root.glob("pid.*"):
                    with contextlib.suppress(ProcessLookupError, ValueError):
                        os.kill(int(path.read_text()), signal.SIGKILL)
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(job.pid, signal.SIGTERM)
                job.wait()
        said = (self.root / "said").read_text()
        self.assertEqual(said.count(" works"), tasks, said)
        return said


class Sfio(SfioPrograms):
    def test_last_tasks_are_listeners(self):
        self.calls(3, SHEAF_SFIO="listeners=1")
        self.calls(3, SHEAF_SFIO="listeners=2", SHEAF_SFIO_HOSTS=self.hosts("n0", "n1"))

    def test_a_listener_on_every_node(self):
        self.calls(4, SHEAF_SFIO="listeners=node", SHEAF_TOPOLOGY="node=2", SHEAF_SFIO_HOSTS=self.hosts("n0", "n1"))

    def test_threads(self):
        self.calls(1, SHEAF_SFIO="thread")
        self.calls(2, SHEAF_SFIO_HOSTS=self.hosts("n0", "n1"))

    def test_a_relative_root_is_that_of_the_start(self):
        root = os.path.relpath(self.root)
        self.calls(2, SHEAF_SFIO="thread", SHEAF_SFIO_ROOT=root, SFIO_TEST_LEAVES="1")
        self.calls(2, SHEAF_SFIO="listeners=1", SHEAF_SFIO_ROOT=root, SFIO_TEST_LEAVES="1")

    def test_a_thread_on_every_node(self):
        self.calls(3, SHEAF_SFIO="thread=node", SHEAF_TOPOLOGY="node=2", SHEAF_SFIO_HOSTS=self.hosts("n0", "n1"))

    def test_listener_program_beside_the_program(self):
        self.calls(2, ":", "-np", 1, BIN / "sheaf-iod", "--name", "n0", "--root", self.root, "--buffer", "64K")
        self.calls(1, ":", "-np", 2, BIN / "sheaf-iod", SHEAF_SFIO="compute", SHEAF_SFIO_HOSTS=self.hosts("n0", "n1"))

    def test_collective_calls(self):
        for count, variables in ((1, {"SHEAF_SFIO": "thread"}), (2, {"SHEAF_SFIO": "thread"}), (4, {"SHEAF_SFIO": "listeners=2"}),
                                 (3, {"SHEAF_SFIO": "listeners=1", "SHEAF_SFIO_BUFFER": "1000"})):
            if OPEN_MPI or count < 4:
                with self.subTest(count=count, **variables):
                    listeners = count if variables["SHEAF_SFIO"] == "thread" else int(variables["SHEAF_SFIO"][-1])
                    hosts = self.hosts(*(f"n{number}" for number in range(listeners)))
                    self.assertIn("works", self.run_program(count, "sfio-collective", SHEAF_SFIO_HOSTS=hosts, **variables))

    def test_small_buffers(self):
        self.calls(3, SHEAF_SFIO="listeners=1", SHEAF_SFIO_BUFFER="1000")

    def test_finalize_ends_the_session(self):
        self.calls(2, SHEAF_SFIO="listeners=1", SFIO_TEST_NO_STOP="1")
        for _ in range(5):
            self.calls(2, SHEAF_SFIO="thread", SFIO_TEST_NO_STOP="1")

    def test_first_example_of_the_paper(self):
        self.run_program(1, "sfio-paper-first", ":", "-np", 2, BIN / "sheaf-iod",
                         SHEAF_SFIO_HOSTS=self.hosts("t0-p1", "t0-p2"))
        self.assertEqual(self.contents("t0-p1", "tmp/a1.dat"), b"Hellod")
        self.assertEqual(self.contents("t0-p2", "tmp/a2.dat"), b" Worl")

    @unittest.skipIf(not OPEN_MPI and (os.cpu_count() or 1) < 4, "five tasks that never yield")
    def test_second_example_of_the_paper(self):
        self.run_program(5, "sfio-paper-second", SHEAF_SFIO="listeners=2", SHEAF_SFIO_HOSTS=self.hosts("t0-p1", "t0-p2"))
        self.assertEqual(self.contents("t0-p1", "tmp/a.dat"), b"Hellod!*Heorld!o*Wor")
        self.assertEqual(self.contents("t0-p2", "tmp/a.dat"), b"*Worlllo*W*Hellld!*")

    def test_second_example_of_the_paper_with_threads(self):
        self.run_program(3, "sfio-paper-second", SHEAF_SFIO_HOSTS=self.hosts("t0-p1", "t0-p2", "t0-p3"))
        self.assertEqual(self.contents("t0-p1", "tmp/a.dat"), b"Hellod!*Heorld!o*Wor")
        self.assertEqual(self.contents("t0-p2", "tmp/a.dat"), b"*Worlllo*W*Hellld!*")

    @unittest.skipUnless((BIN / "sfio-module").exists(), "no Fortran")
    def test_fortran_module(self):
        self.hosts("n0", "n1")
        for how in ("thread", "listeners=1"):
            self.assertIn("works", self.run_program(2, "sfio-module", SHEAF_SFIO=how, SHEAF_SFIO_HOSTS="n0,n1"))

    @unittest.skipUnless(os.geteuid() == 0, "only root may mount")
    def test_a_full_disk_on_one_node(self):
        self.hosts("n0", "n1")
        small = self.root / "n1"
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=100k", "sheaf-test", small], capture_output=True).returncode != 0:
            self.skipTest("no mount")
        self.addCleanup(subprocess.run, ["umount", small])
        for how, count in (("thread", 2), ("listeners=2", 4)):
            said = self.run_program(count, "sfio-failures", "full", SHEAF_SFIO=how, SHEAF_SFIO_HOSTS="n0,n1")
            self.assertIn("task 0 works", said)
            self.assertIn("task 1 works", said)

    def test_words_that_mean_nothing_end_in_an_error_on_all_tasks(self):
        said = self.run_program(2, "sfio-calls", SHEAF_SFIO="listeners=two", code=None)
        self.assertIn("listeners", said)
        said = self.run_program(2, "sfio-calls", SHEAF_SFIO="compute", code=None)
        self.assertIn("no task of the program is an I/O listener", said)
        said = self.run_program(1, "sfio-calls", SHEAF_SFIO="thread", SHEAF_SFIO_BUFFER="none", code=None)
        self.assertIn("SHEAF_SFIO_BUFFER", said)


class LongWaits(SfioPrograms):
    """Tests in which tasks wait for seconds. Those of MPICH take all processors meanwhile, so they run in `make soak`."""

    def test_a_listener_that_dies_or_hangs(self):
        """A listener that dies or hangs is reported, and the other one still serves.

        Open MPI continues after a death only on request. MPICH's launcher fails itself when a task is killed, so
        there a listener only hangs. It is configured to keep the job when the first task leaves without
        MPI_Finalize."""
        self.hosts("n0", "n1")
        listener = self.root / "listener"
        listener.write_text(f'#!/bin/sh\necho $$ >"{self.root}/pid.${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}"\nexec "{BIN}/sheaf-iod"\n')
        listener.chmod(0o755)
        more = ["--enable-recovery"] if OPEN_MPI else ["-disable-auto-cleanup"]
        for number in [signal.SIGSTOP] + [signal.SIGKILL] * OPEN_MPI:
            with self.subTest(signal=number):
                for name in ("n0", "n1"):
                    for path in (self.root / name).glob("f.dat*"):
                        path.unlink()
                said = self.until_they_work(2, *more, BIN / "sfio-failures", "lost", self.root / "pid.3", number.value,
                                            ":", "-np", 2, listener, SHEAF_SFIO_HOSTS="n0,n1", SHEAF_SFIO_TIMEOUT="3")
                self.assertIn("I/O listener 'n1' (task 3) is gone", said)
                self.assertEqual((self.root / "n0" / "f.dat").read_bytes(), b"d" * 400_000)

    def test_listeners_that_sync_for_longer_than_silence_may_last(self):
        slow = {"LD_PRELOAD": str(BIN.parent / "libfailing_calls.so"), "FAILING_DIR": str(self.root), "FAILING_SLOW_SYNC": "2",
                "FAILING_SLOW_WHILE": str(self.root / "slow")}
        for how, count, level in (("thread", 2, {}), ("listeners=2", 3, {}), ("listeners=2", 3, {"SFIO_TEST_LEVEL": "funneled"})):
            with self.subTest(how=how, level=level):
                said = self.run_program(count, "sfio-failures", "slow", self.root, SHEAF_SFIO=how, SHEAF_SFIO_ROOT="",
                                        SHEAF_SFIO_TIMEOUT="1", **slow, **level)
                self.assertEqual(said.count(" works"), 2 if how == "thread" else 1, said)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
