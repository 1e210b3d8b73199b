#!/usr/bin/env python3
"""Programs that guard their file with lockf or fcntl: no call waits for such a lock for ever (locked.c), nor does
writing and reading of multifiles."""
import fcntl
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor

from programs import BIN, HERE, MPIRUN, MPIS, Programs, yields

sys.path[:0] = [os.path.join(HERE, "..", "conformance"), os.path.join(HERE, "..", "..", "python")]

from content import content  # noqa: E402
from library import Library  # noqa: E402
from writer_case import Case  # noqa: E402


class Locked(Programs):
    """On /dev/shm, if there is one; in the subclass, in the directory of temporary files. The library treats their
    file systems differently."""

    in_memory = True

    def test_transfers_of_the_drop_in(self):
        hows = {True: ({}, {"SHEAF_TOPOLOGY": "node=2"}), False: ({},)}
        for mpi in MPIS:
            program = self.build(f"mpicc.{mpi}", "locked.c")
            for environment in hows[yields(mpi)]:
                with ThreadPoolExecutor(max_workers=2) as pool:  # in the atomic mode a run waits for ten seconds
                    runs = [(holder, pool.submit(self.transfers, mpi, program, holder, environment))
                            for holder in ("file", "other", "none", "part")]
                for holder, done in runs:
                    with self.subTest(mpi=mpi, holder=holder, environment=environment):
                        self.assertIn("all right", done.result())

    def transfers(self, mpi, program, holder, environment):
        path = os.path.join(self.where, f"{holder}.dat")
        with open(path, "w") as file:
            if holder == "other":
                fcntl.lockf(file, fcntl.LOCK_EX)
            atomic = ["atomic"] if holder != "part" and not environment and self.in_memory else []
            tasks = 4 if yields(mpi) else 2
            return self.run_under(mpi, tasks, [program, path, holder, *atomic], environment=environment)

    @unittest.skipUnless("openmpi" in MPIS, "locks of multifiles are looked at under one MPI")
    def test_multifiles(self):
        library = Library(pathlib.Path(BIN).parent / "lib" / "libsheaf.so")
        large = [("write", rank, 300000 + 1000 * rank) for rank in range(4)] * 2
        together = [("collwrite", *[90000] * 4)] * 3
        for mode, operations in (("bw", large), ("bw,collective,collsize=2", together), ("bw,compress=lz4", large),
                                 ("bw,durable,iotasks=1", large)):
            for nfiles in (1, 2):
                with self.subTest(mode=mode, nfiles=nfiles):
                    path = pathlib.Path(self.where) / "locked.sion"
                    case = Case([200000] * 4, operations, 4096, mode, parallel=True, numfiles=nfiles, name=path.name)
                    (path.parent / "script.txt").write_text(case.script())
                    with path.open("w") as file:
                        fcntl.lockf(file, fcntl.LOCK_EX)
                        done = subprocess.run([MPIRUN, "openmpi", "4", f"{BIN}/sion_conformance_writer_mpi_openmpi", "script.txt"],
                                              cwd=path.parent, capture_output=True, timeout=200)
                        self.assertEqual(done.returncode, 0, done.stderr)
                        verified = subprocess.run([f"{BIN}/sheaf", "verify", str(path)], capture_output=True, timeout=200)
                        self.assertEqual(verified.returncode, 0, verified.stdout)
                        written = [sum(op[1 + rank] if op[0] == "collwrite" else op[2] * (op[1] == rank) for op in operations)
                                   for rank in range(4)]
                        self.assertEqual(library.streams(path), [content(rank, 0, written[rank]) for rank in range(4)])
                        library.append(path, 2, b"more" * 50000)
                        self.assertEqual(library.stream(path, 2), content(2, 0, written[2]) + b"more" * 50000)
                    for file in path.parent.glob("locked.sion*"):
                        file.unlink()


class LockedOnDisk(Locked):
    in_memory = False

    def setUp(self):
        self.where = tempfile.mkdtemp()


if __name__ == "__main__":
    unittest.main()
