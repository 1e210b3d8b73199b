#!/usr/bin/env python3
"""Errors of the file system under the drop-in: an error on one task is returned by all, with the class of the
standard (faults.c)."""
import os
import subprocess
import unittest

from programs import MPIS, Programs, yields


class Faults(Programs):
    def test_errors_reach_all_tasks_with_their_class(self):
        hows = {True: ({}, {"SHEAF_TOPOLOGY": "node=2"}), False: ({}, {"SHEAF_TOPOLOGY": "node=1"})}
        for mpi in MPIS:
            program = self.build(f"mpicc.{mpi}", "faults.c", "-rdynamic")
            for environment in hows[yields(mpi)]:
                with self.subTest(mpi=mpi, environment=environment):
                    said = self.run_under(mpi, 3 if yields(mpi) else 2, [program, self.where], environment=environment)
                    self.assertIn("all right", said)

    @unittest.skipUnless(os.geteuid() == 0, "only root may mount")
    def test_a_full_file_system(self):
        small = os.path.join(self.where, "small")
        os.mkdir(small)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "sheaf-test", small], capture_output=True).returncode != 0:
            self.skipTest("no mount")
        try:
            for mpi in MPIS:
                program = self.build(f"mpicc.{mpi}", "faults.c", "-rdynamic")
                for environment in ({}, {"SHEAF_TOPOLOGY": "node=1"}):
                    with self.subTest(mpi=mpi, environment=environment):
                        self.assertIn("all right", self.run_under(mpi, 2, [program, small, "full"], environment=environment))
        finally:
            subprocess.run(["umount", small], check=True)


if __name__ == "__main__":
    unittest.main()
