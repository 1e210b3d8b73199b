#!/usr/bin/env python3
"""Patterns that fill ranges of a file on tmpfs, written by processes straight into its memory: the bytes are what each task wrote,
as it and the file itself say, and the statistics tell the way. With SHEAF_MPIIO_OFF=place they tell another one."""
import json
import os
import unittest

from programs import BIN, MPIS, Programs

PATTERNS = "coll_perf,bt-A,strided-4096,strided-64,irregular-1024,contiguous"
IN_PLACE = 5  # of these: contiguous calls leave gaps between the tasks


class InPlace(Programs):
    def calls(self, mpi, tasks, program, names, environment, last=()):
        """Calls in place and all collective writes, as tasks count them."""
        report = os.path.join(self.where, f"report.{len(os.listdir(self.where))}")
        said = self.run_under(mpi, tasks, [os.path.join(BIN, f"mpiio_{program}_{mpi}"), *names, os.path.join(self.where, "file"), "1", *last],
                              environment={"SHEAF_STATS": f"json:{report}", **environment})
        self.assertNotIn("WRONG", said)
        with open(report, encoding="utf-8") as lines:
            files = [json.loads(line) for line in lines]
        return sum(f["place_calls"] for f in files), sum(f["collective_writes"] for f in files)

    def setUp(self):
        super().setUp()
        version = tuple(int(part) for part in os.uname().release.split(".")[:2])
        large_pages = "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size"
        if not self.where.startswith("/dev/shm") or version < (6, 1) or not os.path.exists(large_pages):
            self.skipTest("no tmpfs, or no large pages of files")

    def test_patterns(self):
        for mpi in MPIS:
            for environment, places in (({}, True), ({"SHEAF_MPIIO_OFF": "place"}, False), ({"SHEAF_CB_NODES": "2"}, False)):
                with self.subTest(mpi=mpi, environment=environment):
                    in_place, _ = self.calls(mpi, 4, "patterns", [PATTERNS], environment)
                    self.assertGreaterEqual(in_place, 4 * IN_PLACE) if places else self.assertEqual(in_place, 0)

    def test_libraries(self):
        for mpi in MPIS:
            for program in ("flash_hdf5", "flash_pnetcdf", "flash_pnetcdf_nonblocking"):
                if not os.path.exists(os.path.join(BIN, f"mpiio_{program}_{mpi}")):
                    continue
                with self.subTest(mpi=mpi, program=program):
                    in_place, writes = self.calls(mpi, 4, program, [], {}, ["8"])
                    self.assertGreater(in_place, writes * 0.8)


if __name__ == "__main__":
    unittest.main()
