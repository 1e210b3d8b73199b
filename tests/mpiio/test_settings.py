"""What the environment says and nobody understands is said once, by one task of several, and what is understood is not."""
import os
import sys
import unittest

from programs import MPIS, Programs


class Settings(Programs):
    def test_what_is_not_understood_is_said_once(self):
        wrong = {"SHEAF_CB_NODES": "foo", "SHEAF_BLOCK_SIZE": "xx", "SHEAF_TOPOLOGY": "pset=4", "SHEAF_MPIIO_OFF": "reuse,everything"}
        right = {"SHEAF_CB_NODES": "2", "SHEAF_BLOCK_SIZE": "2M", "SHEAF_TOPOLOGY": "node=2", "SHEAF_MPIIO_OFF": "reuse"}
        for mpi in MPIS:
            program = self.build(f"mpicc.{mpi}", "settings.c")
            for settings in (wrong, right):
                with self.subTest(mpi=mpi, settings=settings):
                    self.run_under(mpi, 3 if mpi == "openmpi" else 2, [program, os.path.join(self.where, "file")], environment=settings)
                    for variable in settings:
                        said = [line for line in self.said_beside.splitlines() if variable in line]
                        self.assertEqual(len(said), 1 if settings is wrong else 0, self.said_beside)
                        for line in said:
                            self.assertIn("is not understood, and ignored; expected", line)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
