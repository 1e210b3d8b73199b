"""Tests that `sheaf leftovers --finish` gives a name to its newest candidate, and never replaces a newer
file."""

from __future__ import annotations

import os
import time
import unittest

from tool_case import ToolCase, make_plain, payload, run

from sheaf_format import MultifileSpec, TaskSpec, write

DAY = 86400


class Finish(ToolCase):
    def put(self, name: str, content: int, days: int) -> None:
        """Writes a complete multifile with a modification time `days` days ago."""
        path = self.dir / name
        write(MultifileSpec(name, [TaskSpec(100, 0, [payload(content, 50)])], 128), str(path))
        then = time.time() - days * DAY
        os.utime(path, (then, then))

    def finish(self, *words: str, status: int) -> str:
        result = run("sheaf", "leftovers", "--finish", *words, self.dir)
        self.assertEqual(result.returncode, status, result)
        return (result.stdout + result.stderr).decode()

    def content(self) -> int:
        data = self.succeed("sheaf", "cat", self.dir / "x.sion")
        return next(number for number in range(1, 10) if payload(number, 50) == data)

    def test_what_is_newer_stays(self) -> None:
        self.put("x.sion", 1, 0)
        self.put("x.sion.sheaf-tmp.1111111111111111", 2, 1)
        self.assertIn("newer", self.finish(status=1))
        self.assertEqual(self.content(), 1)
        self.assertIn("finished", self.finish("--force", status=0))
        self.assertEqual(self.content(), 2)
        self.assertEqual(self.names(), ["x.sion"])

    def test_what_is_older_is_replaced(self) -> None:
        self.put("x.sion", 1, 2)
        self.put("x.sion.sheaf-tmp.1111111111111111", 2, 1)
        self.finish(status=0)
        self.assertEqual(self.content(), 2)

    def test_of_several_the_newest_gets_the_name(self) -> None:
        for there in (False, True):
            if there:
                self.put("x.sion", 1, 3)
            self.put("x.sion.sheaf-tmp.1111111111111111", 2, 1)
            self.put("x.sion.sheaf-tmp.9999999999999999", 3, 2)
            said = self.finish("--force", status=1)
            self.assertIn("sheaf-tmp.9999999999999999: complete, not finished", said)
            self.assertEqual(self.content(), 2)
            self.assertEqual(self.names(), ["x.sion", "x.sion.sheaf-tmp.9999999999999999"])
            self.finish(status=1)
            self.assertEqual(self.content(), 2)
            self.succeed("sheaf", "leftovers", "--remove", self.dir)

    def test_nothing_of_it_stays_behind(self) -> None:
        self.put("x.sion.sheaf-tmp.1111111111111111", 2, 1)
        lease = "Sheaf lease 1\nid 1\nhost a\nboot \npid 1\nstarted 1\ncounter 1\n"
        (self.dir / "x.sion.sheaf-tmp.1111111111111111.lease").write_text(lease.ljust(512, "\n"))
        self.finish(status=0)
        self.assertEqual(self.names(), ["x.sion"])

    def test_of_a_set(self) -> None:
        make_plain(self.dir / "y.sion.sheaf-tmp.1111111111111111")
        self.finish(status=0)
        self.assertEqual(self.names(), ["y.sion", "y.sion.000001"])


if __name__ == "__main__":
    unittest.main()
