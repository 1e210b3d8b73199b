"""Tests the messages and exit codes of the tools for wrong options, for help, and for outputs that exist."""

from __future__ import annotations

import json
import os
import re
import subprocess
import unittest
from pathlib import Path

from tool_case import BIN, SECONDS, ToolCase, make_plain

from sheaf_format import MultifileSpec, TaskSpec, write


class CommandLine(ToolCase):
    def test_obstacles_get_a_message_and_exit_code_1(self) -> None:
        secret = self.dir / "secret.sion"
        make_plain(secret)
        secret.chmod(0)
        paths = ["missing.sion", self.dir, *([] if os.geteuid() == 0 else [secret])]
        for path in paths:
            for tool in (["sheaf", "dump", path], ["sheaf", "cat", path], ["sheaf", "cat", "-t", 0, path],
                         ["sheaf", "info", path], ["sheaf", "verify", path], ["sheaf", "split", path, self.dir / "x"],
                         ["sheaf", "defrag", path, self.dir / "y"], ["siondump", path], ["sioncat", path],
                         ["sionsplit", path, self.dir / "x"], ["siondefrag", path, self.dir / "y"]):
                self.fail_on(Path(path).name, *tool)

    def test_ranges_are_checked(self) -> None:
        path = self.dir / "a.sion"
        make_plain(path)
        for tool in ("sheaf", "cat"), ("sioncat",):
            self.fail_on("tasks 0 to 4", *tool, "-t", 5, path)
            self.fail_on("no task -1", *tool, "-t", -1, path)
            self.fail_on("no block 9", *tool, "-b", 9, path)
            self.fail_on("no block 9", *tool, "-t", 0, "-b", 9, path)

    def test_mistakes_are_usage_errors(self) -> None:
        for arguments in ([], ["fly"], ["dump"], ["dump", "--nonsense", "x"], ["split", "x"], ["cat", "-t", "x", "y"],
                          ["defrag", "-q", 0, "x", "y"]):
            self.fail_on("--help", "sheaf", *arguments, status=2)
        for tool, arguments in (("siondump", []), ("siondump", ["-x", "f"]), ("siondump", ["-h", "f"]), ("sioncat", []),
                                ("sionsplit", ["f"]), ("siondefrag", ["f"]), ("siondefrag", ["-h"])):
            self.fail_on("usage:", tool, *arguments)

    def test_options_of_the_classic_tools(self) -> None:
        path = self.dir / "a.sion"
        streams = make_plain(path)
        plain = self.succeed("siondump", path)
        self.assertEqual(self.succeed("siondump", "-v", path), plain)
        self.assertRegex(self.succeed("siondump", path, "-S"), rb"siondump: sizeof internal struct: +\d+ bytes 2 file descriptors\n")
        self.assertIn(b"sionsplit: generating file:", self.succeed("sionsplit", "-v", path, self.dir / "t"))
        quiet = self.succeed("siondefrag", "-Q", 1, path, self.dir / "q")
        self.assertIn(b"\n[0]\n", quiet)
        loud = self.succeed("siondefrag", "-Q", 1, "-v", path, self.dir / "q")
        self.assertNotIn(b"\n[0]\n", loud)
        self.assertIn(b"task 4", loud)
        self.assertIn(b"filesystem blocksize:      1048576 bytes", self.succeed("siondump", self.dir / "q"))
        told = subprocess.run([BIN / "sioncat", "-v", path], capture_output=True, timeout=SECONDS)
        self.assertEqual((told.returncode, told.stdout), (0, b"".join(streams)))
        self.assertIn(b"task 4", told.stderr)

    def test_help_and_versions(self) -> None:
        self.assertIn(b"split", self.succeed("sheaf", "--help"))
        for command in ("dump", "split", "defrag", "cat", "info", "verify", "repair", "leftovers", "saves", "latest"):
            said = self.succeed("sheaf", command, "--help")
            self.assertIn(b"Example: sheaf " + command.encode(), said)
            self.assertIn(b"Exit codes", said)
        self.assertRegex(self.succeed("sheaf", "--version"), rb"^sheaf \d+\.\d+\.\d+(-rc\d+)?\n$")
        detailed = self.succeed("sheaf", "--version", "-v").decode()
        self.assertTrue(detailed.startswith(self.succeed("sheaf", "--version").decode()))
        self.assertRegex(detailed, r"\ncompression +(zstd lz4 gzip|none|(zstd|lz4|gzip)( \w+)?)\n")
        self.assertEqual(re.search(r"\nfeatures +(.*)\n", detailed)[1], json.loads(self.succeed("sheaf", "info", "--json"))["features"])
        self.fail_on("--version", "sheaf", "-v", "info", status=2)
        self.assertRegex(self.succeed("sionversion", "-x"), rb"^SIONlib Version 1.7.6 \(git_rev .*\), fileformat version 5 ")
        for tool in ("siondump", "sionsplit", "siondefrag", "sioncat"):
            said = self.fail_on("(Version 1.7p6, fileformat version 5)", tool, "-V")
            self.assertTrue(said.startswith("SIONlib utility "))

    def test_info_shows_the_defaults(self) -> None:
        about = json.loads(self.succeed("sheaf", "info", "--json"))
        self.assertTrue(about["defaults"] and about["open_mode_words"])
        text = self.succeed("sheaf", "info")
        for word in (b"SHEAF_FLAGS", b"block size", b"leaders", b"buffer=BYTES"):
            self.assertIn(word, text)

    def test_a_reader_that_goes_away_ends_cat_quietly(self) -> None:
        path = self.dir / "a.sion"
        write(MultifileSpec("a.sion", [TaskSpec(1 << 20, 0, [bytes(1 << 20)])], 512), str(path))
        result = subprocess.run(f"'{BIN}/sheaf' cat '{path}' | head -c 1", shell=True, capture_output=True, timeout=SECONDS)
        self.assertEqual((result.stdout, result.stderr), (b"\0", b""))

    def test_a_full_disk_is_reported(self) -> None:
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        path = self.dir / "a.sion"
        make_plain(path)
        for tool in ("sheaf cat", "sheaf dump", "sheaf info", "siondump"):
            result = subprocess.run(f"'{BIN}/'{tool} '{path}' > /dev/full", shell=True, capture_output=True, timeout=SECONDS)
            self.assertEqual(result.returncode, 1, tool)
            self.assertIn(b"standard output", result.stderr)


if __name__ == "__main__":
    unittest.main()
