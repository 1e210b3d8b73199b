"""Tests the tools on multifiles of running jobs.

`sheaf repair` must refuse them: on the job's host at once, and on another host after it has watched the lease.
Readers and `sheaf leftovers` must name the job. After a forced repair, the multifile must stay readable, whatever
the job does next."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

BIN = pathlib.Path(os.environ["SHEAF_BIN"])
PROGRAM = [sys.executable, "-B", str(pathlib.Path(__file__).resolve().parent / "living_program.py")]
PATIENCE = 120  # timeout of every command in seconds
CHUNK = 4096


class Job:
    """A process that runs living_program.py. Its answers are numbers."""

    def __init__(self, path: pathlib.Path, mode: str = "wb", tasks: int = 2, **options: object) -> None:
        self.process = subprocess.Popen([*PROGRAM, path, mode, str(tasks), str(CHUNK)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, **options)
        self.opened = int(self.process.stdout.readline())

    def has_lease(self, directory: pathlib.Path) -> bool:
        """Waits for the lease, which a thread of the job creates soon after the open."""
        for _ in range(200):
            if any(f"\npid {self.process.pid}\n" in lease.read_text() for lease in directory.glob("*.lease")):
                return True
            time.sleep(0.01)
        return False

    def tell(self, *words: object) -> int:
        print(*words, file=self.process.stdin, flush=True)
        return int(self.process.stdout.readline())

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=PATIENCE)

    def end(self) -> str:
        """Waits for the end of the job and returns its stderr."""
        return self.process.communicate(timeout=PATIENCE)[1]


class LivingJobs(unittest.TestCase):
    def setUp(self) -> None:
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="sheaf-living-"))
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)
        self.path = self.scratch / "a.sion"
        self.lease = self.scratch / "a.sion.lease"
        self.jobs: list[Job] = []
        self.addCleanup(lambda: [job.kill() for job in self.jobs if job.process.poll() is None])

    def job(self, **options: object) -> Job:
        self.jobs.append(Job(self.path, **options))
        self.assertGreaterEqual(self.jobs[-1].opened, 0)
        self.assertTrue(self.jobs[-1].has_lease(self.scratch))
        return self.jobs[-1]

    def sheaf(self, *arguments: object, times: str = "") -> subprocess.CompletedProcess:
        environment = dict(os.environ, **({"SHEAF_LEASE_TIMES": times} if times else {}))
        return subprocess.run([str(part) for part in (BIN / "sheaf", *arguments)], capture_output=True, text=True, timeout=PATIENCE, check=False,
                              env=environment)

    def stream(self, task: int) -> str:
        result = self.sheaf("cat", f"--task={task}", self.path)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_repair_leaves_a_living_job_alone(self) -> None:
        job = self.job()
        self.assertEqual(job.tell("write", 0, "a", 12000), 12000)
        self.assertEqual(job.tell("flush"), 1)
        self.assertEqual(job.tell("fork"), 1)
        before = {path.name: path.read_bytes() for path in self.scratch.iterdir()}
        begin = time.monotonic()
        refused = self.sheaf("repair", self.path)
        self.assertEqual(refused.returncode, 1, refused.stdout)
        self.assertIn(f"process {job.process.pid} on host", refused.stderr)
        self.assertIn("--force", refused.stderr)
        self.assertLess(time.monotonic() - begin, 20, "it need not watch")
        self.assertEqual({path.name: path.read_bytes() for path in self.scratch.iterdir()}, before)
        self.assertIn(f"process {job.process.pid} on host", self.sheaf("cat", "--task=0", self.path).stderr)
        self.assertIn(f"process {job.process.pid} on host", self.sheaf("verify", self.path).stdout)
        # Commands that change nothing are always permitted.
        self.assertEqual(self.sheaf("repair", "--dry-run", self.path).returncode, 0)
        self.assertEqual(self.sheaf("repair", "--copy", self.scratch / "copy", self.path).returncode, 0)
        self.assertEqual(self.sheaf("verify", self.scratch / "copy").returncode, 0)
        self.assertEqual(job.tell("write", 1, "b", 30000), 30000)
        self.assertEqual(job.tell("close"), 1)
        self.assertFalse(self.lease.exists())
        self.assertEqual(self.stream(0), "a" * 12000)
        self.assertEqual(self.stream(1), "b" * 30000)
        job.end()

    def test_a_link_to_its_file_is_no_way_around_it(self) -> None:
        links = self.scratch / "links"
        links.mkdir()
        (links / "link.sion").symlink_to("../a.sion")
        job = self.job()
        self.assertEqual(job.tell("write", 0, "a", 12000), 12000)
        self.assertEqual(job.tell("flush"), 1)
        before = {path.name: path.read_bytes() for path in self.scratch.glob("a.*")}
        refused = self.sheaf("repair", links / "link.sion")
        self.assertEqual(refused.returncode, 1, refused.stdout)
        self.assertIn(f"process {job.process.pid} on host", refused.stderr)
        self.assertEqual({path.name: path.read_bytes() for path in self.scratch.glob("a.*")}, before)
        self.assertEqual(self.sheaf("cat", "--task=0", links / "link.sion").stdout, "a" * 12000)
        job.kill()
        repaired = self.sheaf("repair", links / "link.sion")
        self.assertIn("from its journal", repaired.stdout, repaired.stderr)
        self.assertEqual(self.sheaf("cat", "--task=0", links / "link.sion").stdout, "a" * 12000)
        self.assertEqual(sorted(os.listdir(self.scratch)), ["a.sion", "links"])
        self.assertEqual(os.listdir(links), ["link.sion"])

    def test_a_job_that_writes_through_a_link_is_found_from_both_names(self) -> None:
        links = self.scratch / "links"
        links.mkdir()
        (links / "link.sion").symlink_to("../a.sion")
        self.jobs.append(Job(links / "link.sion"))
        job = self.jobs[-1]
        self.assertTrue(job.has_lease(self.scratch))
        self.assertEqual(job.tell("write", 0, "a", 12000), 12000)
        self.assertEqual(job.tell("flush"), 1)
        for path in (links / "link.sion", self.path):
            self.assertEqual(self.sheaf("repair", path).returncode, 1)
            self.assertEqual(self.sheaf("cat", "--task=0", path).stdout, "a" * 12000)
        self.assertEqual(job.tell("close"), 1)
        job.end()
        self.assertEqual(sorted(os.listdir(self.scratch)), ["a.sion", "links"])
        self.assertEqual(os.listdir(links), ["link.sion"])

    def test_nothing_takes_the_place_of_what_a_job_writes(self) -> None:
        other = self.scratch / "other.sion"
        shutil.copy(self.finished(), other)
        job = self.job()
        self.assertEqual(job.tell("write", 0, "a", 12000), 12000)
        self.assertEqual(job.tell("flush"), 1)
        for words in (("defrag", "--force", self.path, self.path), ("defrag", "--force", other, self.path),
                      ("repair", "--copy", self.path, "--force", other), ("cat", "--force", "-o", self.path, other)):
            refused = self.sheaf(*words)
            self.assertEqual(refused.returncode, 1, words)
            self.assertIn(f"process {job.process.pid} on host", refused.stderr, words)
        self.assertEqual(job.tell("write", 0, "a", 5), 5)
        self.assertEqual(job.tell("close"), 1)
        job.end()
        self.assertEqual(self.stream(0), "a" * 12005)
        self.assertEqual(sorted(os.listdir(self.scratch)), ["a.sion", "other.sion"])
        self.assertEqual(self.sheaf("defrag", "--force", other, self.path).returncode, 0, "nobody writes it any more")

    def finished(self) -> pathlib.Path:
        job = self.job()
        job.tell("write", 0, "b", 10)
        self.assertEqual(job.tell("close"), 1)
        job.end()
        return self.path

    def test_what_a_dead_job_left_is_repaired_at_once(self) -> None:
        job = self.job()
        job.tell("write", 0, "a", 12000)
        job.tell("flush")
        job.kill()
        self.assertTrue(self.lease.exists())
        begin = time.monotonic()
        repaired = self.sheaf("repair", self.path)
        self.assertEqual(repaired.returncode, 0, repaired.stderr)
        self.assertLess(time.monotonic() - begin, 20)
        self.assertEqual(sorted(os.listdir(self.scratch)), ["a.sion"])
        self.assertEqual(self.stream(0), "a" * 12000)
        # The next job must be able to write the multifile, with or without a repair.
        job = self.job()
        job.kill()
        job = self.job()
        self.assertIn(f"\npid {job.process.pid}\n", self.lease.read_text())
        self.assertEqual(job.tell("close"), 1)
        self.assertEqual(sorted(os.listdir(self.scratch)), ["a.sion"])
        job.end()

    def test_root_repairs_what_a_user_left(self) -> None:
        if os.geteuid() != 0:
            self.skipTest("needs root")
        self.scratch.chmod(0o777)
        job = self.job(env=dict(os.environ, AS_USER="65534"))
        job.tell("write", 0, "a", 12000)
        job.tell("flush")
        job.kill()
        self.assertEqual(sorted(os.listdir(self.scratch)), ["a.sion", "a.sion.journal", "a.sion.lease"])
        repaired = self.sheaf("repair", self.path)
        self.assertEqual(repaired.returncode, 0, repaired.stderr)
        self.assertEqual(self.stream(0), "a" * 12000)
        self.assertEqual(sorted(os.listdir(self.scratch)), ["a.sion"])

    def test_the_lease_of_another_machine_is_watched(self) -> None:
        job = self.job()
        job.tell("write", 0, "a", 12000)
        job.tell("flush")
        lines = self.lease.read_text().split("\n")
        job.kill()

        def lease(counter: int) -> str:
            other = {"host": "host elsewhere", "boot": "boot another", "counter": f"counter {counter}"}
            return "\n".join(other.get(line.split(" ")[0], line) for line in lines)[:512].ljust(512, "\n")

        self.lease.write_text(lease(1))
        stop = threading.Event()

        def beat() -> None:
            number = 1
            while not stop.wait(0.3):
                number += 1
                self.lease.write_text(lease(number))

        beating = threading.Thread(target=beat)
        beating.start()
        refused = self.sheaf("repair", self.path, times="300,60000")
        stop.set()
        beating.join()
        self.assertEqual(refused.returncode, 1, refused.stdout)
        self.assertIn("on host elsewhere", refused.stderr)
        self.assertIn("elsewhere", self.sheaf("cat", "--task=0", self.path).stderr)
        begin = time.monotonic()
        repaired = self.sheaf("repair", self.path, times="300,1500")
        self.assertEqual(repaired.returncode, 0, repaired.stderr)
        self.assertGreater(time.monotonic() - begin, 1.5)
        self.assertEqual(self.stream(0), "a" * 12000)
        self.assertFalse(self.lease.exists())

    def test_what_was_repaired_by_force_stays_readable_whatever_the_job_does(self) -> None:
        ends = ([("flush",), ("close",)], [("write", 0, "x", 30000), ("flush",), ("close",)], [("write", 1, "x", 30000)], [("close",)],
                [("write", 1, "x", 100), ("flush",), ("write", 0, "x", 9000), ("close",)])
        begins = ([("write", 0, "a", 12000), ("flush",)], [("write", 0, "a", 20000)], [("write", 0, "a", 100)], [],
                  [("write", 0, "a", 12000), ("flush",), ("write", 0, "b", 3000), ("write", 1, "c", 5000)])
        number = 0
        for begin in begins:
            for words in ("wb", "wb,durable", "wb,buffer=0", "wb,compress=lz4,frame=4k,compress_threads=0"):
                for end in (ends[number % len(ends)], ends[(number + 1) % len(ends)]):
                    with self.subTest(begin=begin, words=words, end=end):
                        self.forced(begin, words, end)
                number += 1

    def forced(self, begin: list, words: str, end: list) -> None:
        job = self.job(mode=words)
        for command in begin:
            job.tell(*command)
        repaired = self.sheaf("repair", "--force", self.path)
        self.assertEqual(repaired.returncode, 0, repaired.stderr)
        self.assertEqual(self.sheaf("verify", self.path).returncode, 0)
        streams = [self.stream(task) for task in range(2)]
        answers = [job.tell(*command) for command in end]
        if ("close",) in end:
            self.assertEqual(answers[-1], 0, "somebody else has completed the file")
        job.kill()
        self.assertEqual(self.sheaf("verify", "--metadata-only", self.path).returncode, 0)
        self.assertEqual([self.stream(task) for task in range(2)], streams)
        self.assertEqual(self.sheaf("repair", self.path).returncode, 0)
        self.path.unlink()

    def test_leftovers_of_a_job_that_has_just_begun_stay(self) -> None:
        job = Job(self.path, mode="wb,atomic")
        listed = self.sheaf("leftovers", "--remove", self.scratch)
        self.assertIn(f"process {job.process.pid} on host", listed.stdout)
        self.assertEqual(job.tell("close"), 1)
        self.assertEqual(sorted(os.listdir(self.scratch)), ["a.sion"])
        job.end()

    def test_leftovers_of_a_living_job_stay(self) -> None:
        job = self.job(mode="wb,atomic")
        job.tell("write", 0, "a", 12000)
        listed = self.sheaf("leftovers", "--remove", self.scratch)
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertIn(f"process {job.process.pid} on host", listed.stdout)
        self.assertEqual(job.tell("close"), 1)
        self.assertEqual(sorted(os.listdir(self.scratch)), ["a.sion"])
        job = self.job(mode="wb,atomic")
        job.kill()
        self.sheaf("leftovers", "--remove", self.scratch)
        self.assertEqual(sorted(os.listdir(self.scratch)), ["a.sion"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
