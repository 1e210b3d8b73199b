"""Tests names with control sequences for terminals: names stored in files, names of files, and names on the command
line. Text output must show them escaped."""

from __future__ import annotations

import json
import os
import unittest
from pathlib import Path

from tool_case import ToolCase, make_keyval, make_plain, run

HOSTILE = "x\x1b[31m\nstate                 complete\r\u202e\u2028\x07é".encode() + b"\xff\xc0\xaf\xc2\x9b"
FORGED = "state                 complete"
ALLOWED = {"\n", "\t"}


class HostileNames(ToolCase):
    def setUp(self) -> None:
        super().setUp()
        self.path = os.fsencode(self.dir) + b"/" + HOSTILE
        plain = self.dir / "plain.sion"
        make_plain(plain)
        for suffix in ("", ".000001"):
            image = bytearray((self.dir / f"plain.sion{suffix}").read_bytes())
            image[52:1076] = HOSTILE.ljust(1024, b"\0")
            with open(self.path + os.fsencode(suffix), "wb") as file:
                file.write(image)
        with open(self.path, "rb") as file:
            self.image = file.read()

    def shown(self, tool: str, *arguments: object, status: int | None = None) -> str:
        """Returns the output of a tool and checks that it has no control characters."""
        result = run(tool, *[os.fsdecode(a) if isinstance(a, bytes) else a for a in arguments])
        if status is not None:
            self.assertEqual(result.returncode, status, (tool, arguments, result.stderr))
        said = result.stderr if "cat" in (tool, *arguments) else result.stdout + result.stderr
        text = said.decode()  # UTF-8
        for character in text:
            if character not in ALLOWED:
                self.assertTrue(ord(character) >= 32 and character not in "\x7f\x9b\u202e\u2028", (tool, arguments, text))
        self.assertFalse([line for line in text.splitlines()[1:] if line.startswith(FORGED) and "\\r" in line], text)
        return text

    def test_of_files_and_stored_in_them(self) -> None:
        for tool, *options in (["sheaf", "info"], ["sheaf", "verify"], ["sheaf", "dump", "-a", "-m", "-M"], ["siondump", "-a"],
                               ["sheaf", "cat", "-v", "-o", "/dev/null/x"], ["sheaf", "repair", "--dry-run"]):
            text = self.shown(tool, *options, self.path)
            self.assertIn("\\x1b[31m\\nstate                 complete\\r\\u202e\\u2028\\x07é\\xff\\xc0\\xaf\\u009b", text)
        info = self.shown("sheaf", "info", self.path, status=0)
        self.assertEqual(len(info.splitlines()), len(self.shown("sheaf", "info", self.dir / "plain.sion").splitlines()))

    def test_of_outputs(self) -> None:
        prefix = self.path + b".part"
        self.assertIn("\\x1b", self.shown("sionsplit", self.path, prefix, status=0))
        self.assertIn("\\x1b", self.shown("sheaf", "split", self.path, prefix, status=1))  # the outputs exist
        self.assertIn("\\x1b", self.shown("siondefrag", self.path, self.path + b".out", status=0))
        self.assertIn("\\x1b", self.shown("sheaf", "defrag", self.path, self.path + b".out", status=1))

    def test_in_messages(self) -> None:
        for damage in (self.image[:100], self.image[:1200], b"\x1b" * 2000, self.image[:-1], self.image + b"x"):
            with open(self.path, "wb") as file:
                file.write(damage)
            for command in (["info"], ["verify"], ["dump"], ["repair", "--dry-run"], ["cat", "-v"], ["cat", "-t", "99"]):
                self.shown("sheaf", *command, self.path)

    def test_of_what_is_not_there(self) -> None:
        for command in ("info", "verify", "dump", "cat", "repair", "leftovers"):
            self.assertIn("\\x1b", self.shown("sheaf", command, self.path + b"/missing", status=1))

    def test_of_leftovers(self) -> None:
        (self.dir / "d").mkdir()
        with open(os.fsencode(self.dir) + b"/d/" + HOSTILE + b".sheaf-tmp.0123456789abcdef", "wb") as file:
            file.write(self.image)
        self.assertIn("\\x1b", self.shown("sheaf", "leftovers", self.dir / "d", status=0))
        json.loads(self.succeed("sheaf", "leftovers", "--json", self.dir / "d"))

    def test_in_the_command_line(self) -> None:
        word = HOSTILE
        for command in (["info", b"--" + word], ["dump", self.path, word], ["cat", "-t", word, self.path],
                        ["defrag", "--compress", word, self.path, "out"], ["stripe", "ls", "x", word], ["split", "-d", word, self.path, "t"]):
            self.assertIn("\\x1b", self.shown("sheaf", *command, status=2))
        self.assertIn("\\x1b", self.shown("sioncat", "-t", word, self.path, status=1))

    def test_of_striped_files(self) -> None:
        name = b"h," + self.path + b".s;" + HOSTILE.replace(b"\n", b"") + b",/x;"
        for command in ("ls", "check", "cat", "rm"):
            self.shown("sheaf", "stripe", command, name, "--root", self.dir)
        (self.dir / "h").mkdir()
        name = b"h,/" + HOSTILE + b";"
        self.shown("sheaf", "stripe", "import", name, self.dir / "plain.sion", "--root", self.dir, status=0)
        for command in ("ls", "check"):
            self.shown("sheaf", "stripe", command, name, "--root", self.dir, status=0)
            json.loads(self.succeed("sheaf", "stripe", command, "--json", os.fsdecode(name), "--root", self.dir))
        self.assertIn("\\x1b", self.shown("sheaf", "stripe", "ls", name, "--root", self.dir))

    def test_json_needs_no_escapes_of_ours(self) -> None:
        shown = HOSTILE.decode(errors="replace")
        info = json.loads(self.succeed("sheaf", "info", "--json", os.fsdecode(self.path)))
        self.assertTrue(info["prefix"].startswith("x\x1b[31m\nstate"), info)
        self.assertEqual(info["prefix"].rstrip("\ufffd\x9b"), shown.rstrip("\ufffd\x9b"))
        self.assertIn("\x1b[31m\n", json.loads(self.succeed("sheaf", "verify", "--json", os.fsdecode(self.path)))["multifiles"][0]["path"])
        self.assertTrue(json.loads(self.succeed("sheaf", "dump", "--json", os.fsdecode(self.path)))["prefix"].startswith("x\x1b[31m\n"))
        json.loads(self.succeed("sheaf", "repair", "--json", "--dry-run", os.fsdecode(self.path)))

    def test_keys_are_numbers(self) -> None:
        path = self.dir / "k.sion"
        make_keyval(path)
        self.shown("sheaf", "dump", "-k", "-K", path, status=0)


if __name__ == "__main__":
    unittest.main()
