"""`sheaf run` around its program: forwards signals, returns its exit code, and gives the set one job for all
spellings of its name."""

from __future__ import annotations

import os
import signal
import subprocess
import time
import unittest
from pathlib import Path

from capture_case import BIN, SECONDS, CaptureCase


def shared_memory(capture: bytes) -> list[str]:
    """Returns the shared memory of a job with this value of SHEAF_CAPTURE."""
    number = 14695981039346656037
    for byte in capture + b"\n":
        number = (number ^ byte) * 1099511628211 % 2**64
    return [name for name in os.listdir("/dev/shm") if f"{number:016x}" in name]


class RunLife(CaptureCase):
    def start(self, script: str, *before: str) -> subprocess.Popen:
        """Starts the script; returns when the program has created `begun`."""
        job = subprocess.Popen([*before, BIN / "sheaf", "run", "--capture", "cap.*:set.sion", "--", "sh", "-c", script], cwd=self.work,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        self.addCleanup(job.wait)
        end = time.monotonic() + SECONDS
        while not (self.work / "begun").exists() and time.monotonic() < end:
            time.sleep(0.01)
        return job

    def test_the_program_gets_the_signal_and_its_files_are_gathered(self) -> None:
        for number in (signal.SIGTERM, signal.SIGHUP):
            for trap, status in (("", 128 + number), (f"trap 'echo end >> cap.a; exit 3' {number.value}; ", 3)):
                with self.subTest(number=number, trap=trap):
                    for path in self.work.iterdir():
                        path.unlink()
                    rest = "for i in $(seq 100); do sleep 0.05; done" if trap else "exec sleep 5"
                    job = self.start(f"{trap}echo one > cap.a; printf %s $SHEAF_CAPTURE > text; mv text begun; {rest}")
                    capture = (self.work / "begun").read_bytes()
                    self.assertNotEqual(shared_memory(capture), [])
                    job.send_signal(number)
                    _, said = job.communicate(timeout=SECONDS)
                    self.assertEqual((job.returncode, said), (status, ""))
                    self.assertEqual(sorted(os.listdir(self.work)), ["begun", "set.sion"])
                    self.assertEqual(self.content("cap.a"), "one\nend\n" if trap else "one\n")
                    self.assertEqual(shared_memory(capture), [])

    def test_marks_go_with_the_job_although_a_process_outlives_it(self) -> None:
        lives = "exec 3>> cap.a; echo > held; while [ ! -e done ]; do sleep 0.02; done; echo > ended"
        job = self.start(f"printf %s $SHEAF_CAPTURE > text; (exec > /dev/null 2>&1; {lives}) & "
                         "while [ ! -e held ]; do sleep 0.02; done; mv text begun")
        capture = (self.work / "begun").read_bytes()
        job.communicate(timeout=SECONDS)
        left = shared_memory(capture)
        self.assertNotEqual(left, [], "of the process that has outlived the job")
        self.assertEqual([name for name in left if ".mark." in name], [])
        (self.work / "done").touch()
        end = time.monotonic() + SECONDS
        while not (self.work / "ended").exists() and time.monotonic() < end:
            time.sleep(0.02)
        (self.work / "begun").unlink()
        self.start("touch begun").communicate(timeout=SECONDS)  # the next job with these rules
        self.assertEqual(shared_memory(capture), [])

    def test_what_is_ignored_stays_ignored(self) -> None:
        job = self.start("touch begun; sleep 0.5; echo one > cap.a", "nohup")
        job.send_signal(signal.SIGHUP)
        job.communicate(timeout=SECONDS)
        self.assertEqual(job.returncode, 0)
        self.assertEqual(self.content("cap.a"), "one\n")

    def test_a_program_that_cannot_be_run(self) -> None:
        (self.work / "text").write_text("text")
        commands = [["run", "--capture", "cap.*:set.sion"]]
        if (BIN.parent / "lib" / "libsheaf_mpiio.so").exists():
            commands += [["mpiio"], ["mpiio", "--report"]]
        for name in ("./none", "./text"):
            for words in commands:
                with self.subTest(name=name, words=words):
                    done = self.sheaf(*words, "--", name, check=False)
                    self.assertEqual(done.returncode, 127, done.stderr)
                    self.assertIn(f"cannot run '{name}'", done.stderr)

    def test_a_set_in_use_is_not_gathered_whatever_it_is_called(self) -> None:
        (self.work / "sub").mkdir()
        (self.work / "link").symlink_to("set.sion")
        job = self.start("exec 3>cap.a; echo one >&3; touch begun; for i in $(seq 100); do [ -e go ] || sleep 0.05; done; "
                         "echo two >&3; echo b > cap.b")
        for name in ("./set.sion", "sub/../set.sion", Path(self.work, "set.sion"), "link"):
            done = self.sheaf("defrag", "--force", "set.sion", name, check=False)
            self.assertEqual(done.returncode, 1, name)
            self.assertIn("have the set open", done.stderr)
        (self.work / "go").touch()
        job.communicate(timeout=SECONDS)
        self.assertEqual(self.names(), ["cap.a", "cap.b"])
        self.assertEqual(self.content("cap.a"), "one\ntwo\n")


if __name__ == "__main__":
    unittest.main()
