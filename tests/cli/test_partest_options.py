"""Tests that partest accepts the short and the long form of every option in the list of the public interface."""

from __future__ import annotations

import re
import struct
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "conformance"))

from public_interface import read_list, read_pending  # noqa: E402
from test_partest import MPIS, PartestCase  # noqa: E402

LISTED = [entry.split(" ", 1)[1] for entry in read_list()["tools"] if entry.startswith("partest ") and entry not in read_pending()]
# -c requires more than one task per collector and has its own test.
SHORT = {option.split()[0] for option in LISTED if not option.startswith("--")} - {"-c"}
LONG = {option for option in LISTED if option.startswith("--")}

LONG_VALUES = {"--filename=": "long.sion", "--chunksize=": "10Ki", "--fsblksize=": "512", "--bufsize=": "1kB",
               "--localsize=": "5k", "--totalsize=": "10k", "--factor=": "0.0", "--serialized=": "-1", "--write=": "1",
               "--read=": "1", "--numfiles=": "1", "--hintlargeblock=": "-1", "--hintiobufsize=": "-1",
               "--hintsparseacess=": "-1"}
SHORT_VALUES = {"-f": "short.sion", "-n": "1", "-r": "10Ki", "-q": "512", "-T": "0", "-b": "1k", "-g": "10k", "-s": "5k",
                "-F": "0", "-R": "1", "-W": "1", "-Z": "1", "-O": "10", "-j": "-1", "-X": "0", "-Q": "100"}


class Options(PartestCase):
    def test_long(self) -> None:
        done = self.start(*(option + LONG_VALUES.get(option, "0") for option in sorted(LONG)), name="partest")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue((self.dir / "long.sion").exists())
        self.assertRegex(done.stderr, r"TOTAL WRITE +b=")
        self.assertRegex(done.stderr, r"TOTAL READ +b=")

    def test_short(self) -> None:
        words = [word for option in sorted(SHORT) for word in (option, SHORT_VALUES.get(option)) if word is not None]
        done = self.start(*words, name="partest")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue((self.dir / "short.sion").exists())
        self.assertTrue(re.search(r"TOTAL READ +b=", done.stderr), done.stderr)

    def test_renumbered_tasks(self) -> None:
        count = MPIS[self.mpi]
        self.environment["SION_COLLSIZE"] = "2"
        for option in ("-c", "--collmsa=1"):
            done = self.start(option, "-M", "-m", "-s", "100k", "-b", "10k", "-X", "0", "-f", "msa.sion", name="partest")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stderr, r"TOTAL READ +b=")
            header = (self.dir / "msa.sion").read_bytes()[1076:1076 + 8 * count]
            self.assertEqual(struct.unpack(f"<{count}q", header), (0, 2, 1, 3) if count == 4 else (0, 1))
        self.assertNotEqual(self.start("-c", "-n", "3", name="partest").returncode, 0, "4 tasks are no 3 files of 2 tasks")
        del self.environment["SION_COLLSIZE"]
        self.assertNotEqual(self.start("-c", name="partest").returncode, 0, "needs SION_COLLSIZE")

    def test_there_are_no_others(self) -> None:
        for unknown in ("--unheard-of=1", "-y"):
            self.assertNotEqual(self.start(unknown, name="partest").returncode, 0)


if __name__ == "__main__":
    unittest.main()
