"""Tests that memory and time of `sheaf repair` without a journal depend on the data on disk, not on the length of the
file."""

from __future__ import annotations

import resource
import subprocess
import unittest

from tool_case import BIN, ToolCase, run

from sheaf_format import MultifileSpec, TaskSpec, write

CHUNK = 4096
MEMORY = 1 << 30


class Holes(ToolCase):
    def repair(self, at: int) -> subprocess.CompletedProcess:
        """Creates an unclosed file of one task, writes one more byte at file offset `at`, and repairs the file."""
        path = self.dir / "a.sion"
        write(MultifileSpec("a.sion", [TaskSpec(CHUNK, 0, [b"x" * 100])], CHUNK), str(path))
        with open(path, "r+b") as file:
            file.seek(1076 + 16)
            file.write(bytes(12))
            file.truncate(CHUNK + 100)
            file.seek(at)
            file.write(b"!")
        return subprocess.run([str(BIN / "sheaf"), "repair", str(path)], capture_output=True, text=True, timeout=60, check=False,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)))

    def test_of_a_file_that_ends_far_behind(self) -> None:
        result = self.repair(2**41)
        self.assertEqual(result.returncode, 1, result)
        self.assertIn("block table", result.stderr)
        self.assertEqual((self.dir / "a.sion").stat().st_size, 2**41 + 1, "nothing was changed")

    def test_of_rounds_that_are_not_there(self) -> None:
        result = self.repair(2**30)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(run_cat(self), b"x" * 100 + b"!")


def run_cat(case: ToolCase) -> bytes:
    result = run("sheaf", "cat", case.dir / "a.sion")
    case.assertEqual(result.returncode, 0, result.stderr)
    case.assertIn(b"where chunks end in it was guessed", result.stderr, "readers are told of marks")
    return result.stdout.replace(b"\0", b"")


if __name__ == "__main__":
    unittest.main()
