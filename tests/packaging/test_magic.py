"""file(1) recognizes multifiles by the installed patterns (packaging/sheaf.magic)."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("SHEAF_BIN", ROOT / "build" / "bin")).resolve()
FROZEN = ROOT / "tests" / "conformance" / "frozen" / "1"


@unittest.skipUnless(shutil.which("file"), "file(1) is not there")
class Magic(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.dir = Path(directory.name)

    def say(self, path: Path) -> str:
        done = subprocess.run(["file", "--brief", "-m", str(ROOT / "packaging" / "sheaf.magic"), str(path)], capture_output=True,
                              text=True, check=True)
        self.assertEqual(done.stderr, "")
        return done.stdout.strip()

    def test_the_patterns_are_well_formed(self) -> None:
        done = subprocess.run(["file", "--compile", "-m", str(ROOT / "packaging" / "sheaf.magic")], cwd=self.dir, capture_output=True,
                              text=True, check=True)
        self.assertEqual(done.stderr, "")

    def test_plain_multifiles(self) -> None:
        self.assertEqual(self.say(FROZEN / "plain/plain.sion"), "SION multifile version 5, little-endian, 3 tasks")
        self.assertEqual(self.say(FROZEN / "set/set.sion.000001"),
                         "SION multifile version 5, little-endian, 3 tasks in this one of 2 files")
        self.assertEqual(self.say(FROZEN / "userdata_big/userdata_big.sion"),
                         "SION multifile version 5, little-endian, data big-endian, 3 tasks")

    def test_multifiles_of_machines_with_the_other_byte_order(self) -> None:
        path = self.dir / "big.sion"
        path.write_bytes(b"sion" + b"\1\1\1\1" + struct.pack(">iiiiii", 1007, 6, 4, 512, 9, 3) + bytes(2000))
        self.assertEqual(self.say(path), "SION multifile version 4, big-endian, 9 tasks in this one of 3 files")

    def test_encoded_multifiles_are_something_else(self) -> None:
        for method in ("zstd", "lz4", "gzip"):
            path = self.dir / f"{method}.sion"
            subprocess.run([str(BIN / "sheaf"), "defrag", "--compress", method, str(FROZEN / "set/set.sion"), str(path)], check=True)
            self.assertEqual(self.say(path), f"Sheaf multifile, encoded, little-endian, 5 tasks, {method}")

    def test_compressed_ones_from_before(self) -> None:
        self.assertEqual(self.say(FROZEN / "zstd/zstd.sion"), "SION multifile version 5, little-endian, 3 tasks, compressed")

    def test_what_lies_beside_them(self) -> None:
        self.assertEqual(self.say(FROZEN / "unclosed/unclosed.sion.journal"), "Sheaf journal of a multifile version 1, 3 tasks")
        self.assertEqual(self.say(FROZEN / "striped/n1/striped.sion.sfio"), "Sheaf striped file version 1, subfile 1 of 2")

    def test_nothing_else(self) -> None:
        for data in (b"sionic text", b"sion\2\2\2\2" + bytes(100), b"\x89PNG\r\n\x1a\n"):
            path = self.dir / "other"
            path.write_bytes(data)
            self.assertNotIn("multifile", self.say(path))


if __name__ == "__main__":
    unittest.main()
