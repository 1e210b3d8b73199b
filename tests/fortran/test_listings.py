"""Tests the listings of the SC'09 paper (examples/listings), in Fortran under one MPI and in C. All versions must read
each other's files.

    test_listings.py MPI MPI_OF_C
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ["SHEAF_BIN"])
MPI, MPI_OF_C = sys.argv[1:3]
TASKS = 2
PARALLEL = ("listing1_parallel_write", "listing2_parallel_read")


class Listings(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.dir = Path(directory.name)

    def run_listing(self, language: str, listing: str, *words: object, code: int = 0) -> str:
        fortran = language == "Fortran"
        name = f"fortran_{listing}" if fortran else listing
        command = [BIN / (f"{name}_{MPI}" if fortran and listing in PARALLEL else name), *words]
        if listing in PARALLEL:
            command = [ROOT / "scripts" / "mpirun.sh", MPI if fortran else MPI_OF_C, TASKS, *command]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=100, cwd=self.dir)
        (self.assertEqual if code == 0 else self.assertGreaterEqual)(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def test_whatever_one_has_written_all_can_read(self) -> None:
        path = self.dir / "data.sion"
        for writer in ("Fortran", "C"):
            for listing in ("listing1_parallel_write", "listing3_serial_write"):
                said = self.run_listing(writer, listing, path, *([] if listing in PARALLEL else [TASKS]))
                self.assertIn("written", said)
                for reader in ("Fortran", "C"):
                    with self.subTest(writer=writer, listing=listing, reader=reader):
                        self.assertIn("verified", self.run_listing(reader, "listing2_parallel_read", path))
                        for task in range(TASKS):
                            self.assertIn("verified", self.run_listing(reader, "listing4_serial_read_local", path, task))
                        said = self.run_listing(reader, "listing5_serial_read_global", path)
                        self.assertIn("task   1: 3 chunks of 4096 bytes hold 10500 bytes\n", said)

    def test_other_bytes_are_noticed(self) -> None:
        path = self.dir / "data.sion"
        self.run_listing("Fortran", "listing3_serial_write", path, TASKS)
        whole = path.read_bytes()
        at = whole.index(bytes((i * 7 + i // 251) & 127 for i in range(100)))
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:])
        os.environ["SHEAF_FLAGS"] = "checksums=off"
        self.addCleanup(os.environ.pop, "SHEAF_FLAGS")
        for listing, words in (("listing2_parallel_read", []), ("listing4_serial_read_local", [0]), ("listing5_serial_read_global", [])):
            self.assertIn("FAILED", self.run_listing("Fortran", listing, path, *words, code=1))

    def test_a_file_that_is_not_there(self) -> None:
        for listing, words in (("listing2_parallel_read", []), ("listing4_serial_read_local", [0]), ("listing5_serial_read_global", [])):
            self.assertIn("FAILED", self.run_listing("Fortran", listing, self.dir / "absent", *words, code=1))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
