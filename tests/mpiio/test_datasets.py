#!/usr/bin/env python3
"""Random datasets of HDF5 and variables of PnetCDF have the contents of their definition when accessed through the
drop-in (datasets.hpp). SHEAF_DATASETS: cases for each library (200), over both MPIs. SHEAF_SEED: a seed instead of 1.
A failing case prints how to repeat it: with the LD_PRELOAD of the drop-in, in any directory."""
import os
import subprocess
import unittest

from programs import BIN, LIB, MPIRUN, MPIS, Programs

CASES = int(os.environ.get("SHEAF_DATASETS", "200"))
SEED = os.environ.get("SHEAF_SEED", "1")
# MPICH's waiting tasks do not yield: fewer cases with more tasks than cores.
RUNS = {"hdf5": [("openmpi", 4, 0.6), ("openmpi", 1, 0.1), ("mpich", 2, 0.25), ("mpich", 4, 0.05)],
        "pnetcdf": [("openmpi", 4, 0.8), ("openmpi", 2, 0.1), ("openmpi", 1, 0.1)]}


class Datasets(Programs):
    def run_cases(self, kind):
        ran = 0
        for mpi, tasks, share in RUNS[kind]:
            program = os.path.join(BIN, f"mpiio_datasets_{kind}_{mpi}")
            if mpi not in MPIS or not os.path.exists(program):
                continue
            ran += 1
            cases = max(2, int(CASES * share))
            with self.subTest(mpi=mpi, tasks=tasks):
                command = [MPIRUN, mpi, str(tasks), "env", f"LD_PRELOAD={LIB}/libsheaf_mpiio_{mpi}.so", program,
                           SEED, str(cases), self.where]
                done = subprocess.run(command, capture_output=True, text=True, timeout=60 + cases)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr[-5000:])
                self.assertIn(f"{cases} cases, 0 failed", done.stdout)
        if not ran:
            self.skipTest(f"built without {kind}: see scripts/install-deps.sh")

    def test_hdf5(self):
        self.run_cases("hdf5")

    def test_pnetcdf(self):
        self.run_cases("pnetcdf")


if __name__ == "__main__":
    unittest.main()
