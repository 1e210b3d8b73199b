"""Tests named streams in a damaged container or beside a damaged multifile. The tools must report the damage, and
must never remove unreadable data."""

from __future__ import annotations

import json
import unittest
from pathlib import Path

from tool_case import ToolCase, make_plain, run

from sheaf_format import containers

IDENTITY = b"0123456789abcdef"


class DamagedContainers(ToolCase):
    def setUp(self) -> None:
        super().setUp()
        self.set = self.dir / "set.sion"
        self.container = Path(f"{self.set}.container.h")
        containers.write_container(str(self.container), {b"a": b"first" * 4000, b"b": b"second" * 4000}, IDENTITY)
        self.whole = self.container.read_bytes()

    def change(self, at: int) -> None:
        changed = bytearray(self.whole)
        changed[at] ^= 4
        self.container.write_bytes(changed)

    def refused(self, what: str) -> None:
        """Checks that every tool refuses the container and leaves it unchanged."""
        left = self.container.read_bytes()
        for command in (["verify"], ["repair"], ["defrag"]):
            with self.subTest(command):
                said = self.fail_on(self.container.name, "sheaf", *command, self.set, *[self.set] * (command == ["defrag"]))
                self.assertIn(what, said)
        self.assertEqual(self.names(), [self.container.name])
        self.assertEqual(self.container.read_bytes(), left)
        self.assertNotEqual(run("sheaf", "run", "--capture", f"{self.dir}/none*:{self.set}", "--", "true").returncode, 0)
        self.assertEqual(self.container.read_bytes(), left)

    def test_its_header(self) -> None:
        self.change(20)
        self.refused("its header")

    def test_its_table(self) -> None:
        self.change(4097)
        self.refused("byte 4096 of its table")

    def test_a_record(self) -> None:
        self.change(2 * 4096 + 20)
        self.refused("the record at byte 8192")
        out = self.dir / "out.sion"
        self.assertIn("the record at byte 8192", self.fail_on("h", "sheaf", "defrag", self.set, out))
        self.assertEqual(self.succeed("sheaf", "ls", out), self.succeed("sheaf", "ls", self.set))

    def test_the_length_of_a_piece(self) -> None:
        self.change(2 * 4096 + 48 + 48)
        self.refused("the length of the piece")

    def test_its_end(self) -> None:
        self.container.write_bytes(self.whole[:-3000])
        self.refused("it ends before bytes of 'b'")
        self.assertEqual(self.succeed("sheaf", "cat", "--name", "a", self.set), b"first" * 4000)
        self.assertIn("it ends before bytes of 'b'", self.fail_on(self.container.name, "sheaf", "cat", "--name", "b", self.set))
        self.assertIn("'b'", self.fail_on("h", "sheaf", "defrag", self.set, self.dir / "out.sion"))

    def test_a_torn_record_keeps_the_container(self) -> None:
        torn = bytearray(self.whole)
        end = 2 * 4096 + 2 * (48 + 64)
        torn[end:end + 20] = torn[2 * 4096 + 1:2 * 4096 + 21]
        self.container.write_bytes(torn)
        self.assertIn(f"note: {self.container}: the record at byte {end}", self.succeed("sheaf", "verify", self.set).decode())
        done = run("sheaf", "defrag", self.set, self.set)
        self.assertEqual(done.returncode, 0)
        self.assertIn("is kept as", done.stderr.decode())
        self.assertEqual(self.names(), ["set.sion", "set.sion.torn.h"])
        self.assertEqual((self.dir / "set.sion.torn.h").read_bytes(), torn)
        self.assertEqual(self.succeed("sheaf", "cat", "--name", "b", self.set), b"second" * 4000)


class MultifileBeside(ToolCase):
    """A container beside a multifile must not hide damage to the multifile."""

    def setUp(self) -> None:
        super().setUp()
        self.set = self.dir / "set.sion"
        containers.write_container(f"{self.set}.container.h", {b"a": b"first"}, IDENTITY)

    def test_one_without_names(self) -> None:
        make_plain(self.set)
        self.succeed("sheaf", "verify", self.set)
        report, = json.loads(self.succeed("sheaf", "verify", "--json", self.set))["multifiles"]
        self.assertTrue(report["ok"] and report["containers"])
        self.assertEqual([file["ntasks"] for file in report["files"]], [2, 3])
        whole = self.set.read_bytes()
        self.set.write_bytes(whole[:-40])
        self.fail_on("set.sion: damaged", "sheaf", "verify", self.set)
        report, = json.loads(run("sheaf", "verify", "--json", self.set).stdout)["multifiles"]
        self.assertFalse(report["ok"])
        self.assertFalse(report["files"][0]["state"] == "ok")

    def test_others_are_checked_all_the_same(self) -> None:
        self.succeed("sheaf", "defrag", self.set, self.set)
        self.set.write_bytes(self.set.read_bytes()[:-5] + b"wrong")
        containers.write_container(f"{self.set}.container.h", {b"b": b"new"}, IDENTITY[::-1])
        make_plain(self.dir / "good.sion")
        done = run("sheaf", "verify", "--json", self.set, self.dir / "good.sion")
        self.assertEqual(done.returncode, 1)
        self.assertEqual([report["ok"] for report in json.loads(done.stdout)["multifiles"]], [False, True])
        self.assertIn("good.sion: ok", self.fail_on("its streams cannot be read", "sheaf", "verify", self.set, self.dir / "good.sion"))


class NamesOfOneFile(ToolCase):
    def test_streams_that_would_be_one_file_are_refused(self) -> None:
        names = [b"d//e", b"d/e", b"./d/e"]
        for k, (one, other) in enumerate([(0, 1), (1, 2)]):
            made = self.dir / f"set{k}"
            containers.write_container(f"{made}.container.h", {names[one]: b"1", names[other]: b"2"}, IDENTITY)
            said = self.fail_on(f"'{names[one].decode()}'", "sheaf", "split", "--names", "--force", made, f"{self.dir}/out/")
            self.assertIn(f"'{names[other].decode()}'", said)
            self.assertFalse((self.dir / "out").exists())


if __name__ == "__main__":
    unittest.main()
