"""Captured files become plain when used in ways only possible for files of the file system; patterns without a match
are reported."""

from __future__ import annotations

import unittest

from capture_case import CaptureCase

MAPS = """
import mmap, os
with open("cap.1", "r+b") as file, open("cap.1", "rb") as other:
    file.seek(4)
    with mmap.mmap(file.fileno(), 0) as memory:
        memory[0:2] = b"MM"
        assert file.tell() == 4 and other.read() == b"MMpped", "two descriptors"
        file.write(b"!")
        file.flush()
        assert memory[4:5] == b"!", "what is written later"
assert os.stat("cap.1").st_nlink == 1
"""
LOCKS = """
import fcntl, mmap, os
with open("cap.1", "r+b") as file:
    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 2, 3)
    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 0, 6)
    memory = mmap.mmap(file.fileno(), 0)  # has a descriptor of its own, the close of which would end the locks
    if os.fork() == 0:
        other = open("cap.1", "r+b")
        fcntl.lockf(other, fcntl.LOCK_EX | fcntl.LOCK_NB, 3, 0)
        for at in (4, 1000):
            try:
                fcntl.lockf(other, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, at)
            except OSError:
                continue
            os._exit(1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.wait()[1]) == 0, "the lock is still held"
    memory.close()
"""


class BecomingPlain(CaptureCase):
    def test_a_hard_link(self) -> None:
        done = self.run_captured("sh", "-c", "echo one > cap.1; echo kept > cap.2; ln cap.1 cap.3; ln cap.3 cap.4; echo two >> cap.4")
        for name in ("cap.1", "cap.3", "cap.4"):
            self.assertEqual((self.work / name).read_text(), "one\ntwo\n", name)
        self.assertEqual(self.names(), ["cap.2"])
        self.assertEqual(done.stderr.count("gets another name (a hard link)"), 1, done.stderr)

    def test_a_link_that_cannot_be_made(self) -> None:
        self.run_captured("sh", "-c", "echo one > cap.1; echo two > cap.2; ! ln cap.1 cap.2; ! ln cap.0 cap.3")
        self.assertEqual(self.names(), ["cap.1", "cap.2"])

    def test_tar(self) -> None:
        self.sheaf("run", "--capture", "none:other.sion", "--", "sh", "-c", "mkdir in; echo x > in/cap.1; ln in/cap.1 in/cap.2; tar cf a.tar in")
        self.sheaf("run", "--capture", "out/**:set.sion", "--", "sh", "-c", "mkdir out; tar xf a.tar -C out")
        self.assertEqual((self.work / "out/in/cap.2").read_text(), "x\n")

    def test_a_mapping_that_is_written(self) -> None:
        done = self.run_captured("sh", "-c", f"printf mapped > cap.1; python3 -c '{MAPS}'")
        self.assertEqual((self.work / "cap.1").read_bytes(), b"MMpp!d")
        self.assertEqual(done.stderr.count("is mapped to be written and shared"), 1, done.stderr)

    def test_locks_stay(self) -> None:
        self.run_captured("sh", "-c", f"printf mapped > cap.1; python3 -c '{LOCKS}'")

    def test_a_pattern_that_nothing_matches(self) -> None:
        done = self.sheaf("run", "--capture", "{a,b}.*:set.sion", "--capture", "cap.*:other.sion", "--", "sh", "-c", "echo 1 > cap.1")
        self.assertEqual(done.stderr.count("nothing was captured"), 1, done.stderr)
        self.assertIn("braces stand for themselves", done.stderr)
        # Reading the files of an earlier job counts as use.
        done = self.sheaf("run", "--capture", "cap.*:other.sion", "--", "cat", "cap.1")
        self.assertEqual((done.stdout, done.stderr), ("1\n", ""))


if __name__ == "__main__":
    unittest.main()
