"""Renames that bring plain files into a set: what has the name afterwards is all of one file, and nothing is lost."""

from __future__ import annotations

import shutil
import unittest

from capture_case import CaptureCase


class Moves(CaptureCase):
    @unittest.skipUnless(shutil.which("strace"), "strace makes calls wait")
    def test_threads_that_rename_to_one_name_at_once(self) -> None:
        script = ("import os, threading\n"
                  "def move(letter):\n"
                  "    try: os.rename(letter, 'cap.1')\n"
                  "    except OSError as error: print(letter, error)\n"
                  "threads = [threading.Thread(target=move, args=(letter,)) for letter in 'ab']\n"
                  "for thread in threads: thread.start()\n"
                  "for thread in threads: thread.join()\n"
                  "text = open('cap.1').read()\n"
                  "print(sorted(os.listdir('.')), text == text[0] * {'a': 1 << 20, 'b': 1 << 19}[text[0]])\n")
        (self.work / "a").write_text("a" * (1 << 20))
        (self.work / "b").write_text("b" * (1 << 19))
        done = self.run_captured("strace", "-f", "-qq", "-o", self.dir / "trace", "-P", self.work / "a", "-P", self.work / "b",
                                 "-e", "trace=pread64", "-e", "inject=pread64:delay_enter=300000", "python3", "-c", script)
        self.assertIn("(DELAYED)", (self.dir / "trace").read_text())
        self.assertRegex(done.stdout, r"\['cap.1', 'set.sion.container.[^ ]*'\] True\n")
        self.assertEqual(self.names(), ["cap.1"])


if __name__ == "__main__":
    unittest.main()
