#!/usr/bin/env python3
"""Programs in C, Fortran (mpif.h, use mpi, use mpi_f08), Python, HDF5 and PnetCDF under the drop-in, preloaded and linked
before the MPI library, with both MPIs and with and without MPI_THREAD_MULTIPLE."""
import json
import os
import shutil
import subprocess
import tempfile
import unittest

BIN = os.path.abspath(os.environ.get("SHEAF_BIN", "build/bin"))
LIB = os.path.join(os.path.dirname(BIN), "lib")
HERE = os.path.dirname(os.path.abspath(__file__))
MPIRUN = os.path.abspath("scripts/mpirun.sh")
MPIS = [mpi for mpi in ("openmpi", "mpich") if os.path.exists(f"{LIB}/libsheaf_mpiio_{mpi}.so")]
TASKS = {"openmpi": (1, 2, 5), "mpich": (1, 2)}
PYTHON = """
import sys, numpy, array
from mpi4py import MPI
comm = MPI.COMM_WORLD
n, rank = comm.size, comm.rank
f = MPI.File.Open(comm, sys.argv[1], MPI.MODE_CREATE | MPI.MODE_RDWR | MPI.MODE_DELETE_ON_CLOSE)
t = MPI.DOUBLE.Create_subarray([8, 4 * n], [8, 4], [0, 4 * rank]); t.Commit()
f.Set_view(0, MPI.DOUBLE, t)
mine = numpy.arange(32.0) + 100 * rank
f.Iwrite_all(mine).Wait()
f.Seek(0)
back = numpy.zeros(32)
f.Iread_all(back).Wait()
assert (mine == back).all()
comm.Barrier()
f.Set_view(0, MPI.DOUBLE)
assert f.Get_size() == 8 * 32 * n
f.Close()
t.Free()
if rank == 0: print("all right")
"""


class Behaviour(unittest.TestCase):
    def setUp(self):
        self.where = tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)

    def tearDown(self):
        shutil.rmtree(self.where)

    def build(self, compiler, source, *flags, name="program"):
        program = os.path.join(self.where, name)
        subprocess.run([compiler, os.path.join(HERE, source), "-o", program, *flags], check=True, cwd=self.where)
        return program

    def run_under(self, mpi, tasks, command, preload=True, environment=None):
        words = ["env", f"LD_PRELOAD={LIB}/libsheaf_mpiio_{mpi}.so"] if preload else []
        done = subprocess.run([MPIRUN, mpi, str(tasks), *words, *command], capture_output=True, text=True, timeout=200,
                              env={**os.environ, **(environment or {})})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_c(self):
        for mpi in MPIS:
            linked = self.build(f"mpicc.{mpi}", "behaviour.c", f"-L{LIB}", f"-Wl,-rpath,{LIB}", f"-lsheaf_mpiio_{mpi}",
                                name="linked")
            program = self.build(f"mpicc.{mpi}", "behaviour.c")
            for tasks in TASKS[mpi]:
                for threads in ({}, {"BEHAVIOUR_THREADS": "1"}):
                    for command, preload in (([program, self.where], True), ([linked, self.where], False)):
                        with self.subTest(mpi=mpi, tasks=tasks, threads=threads, preload=preload):
                            self.assertIn("all right", self.run_under(mpi, tasks, command, preload, threads))

    def test_fortran(self):
        for mpi in MPIS:
            for binding in (1, 2, 3):
                if not shutil.which(f"mpif90.{mpi}"):
                    continue
                program = self.build(f"mpif90.{mpi}", "fortran.F90", "-fallow-argument-mismatch", f"-DBINDING={binding}")
                with self.subTest(mpi=mpi, binding=binding):
                    self.assertIn("all right", self.run_under(mpi, 2, [program, os.path.join(self.where, "file")]))

    def test_python(self):
        # Debian's mpi4py belongs to Open MPI.
        python = "/usr/bin/python3"
        if "openmpi" not in MPIS or subprocess.run([python, "-c", "import mpi4py, numpy"], capture_output=True).returncode:
            self.skipTest("no mpi4py")
        for tasks in (1, 3):
            output = self.run_under("openmpi", tasks, [python, "-c", PYTHON, os.path.join(self.where, "file")])
            self.assertIn("all right", output)

    def test_hdf5_and_pnetcdf(self):
        file = os.path.join(self.where, "file")
        for mpi in MPIS:
            for kind in ("hdf5", "pnetcdf"):
                program = f"{BIN}/mpiio_flash_{kind}_{mpi}"
                if not os.path.exists(program):
                    continue
                with self.subTest(mpi=mpi, kind=kind):
                    self.run_under(mpi, 2, [program, file, "1", "keep"])
                    if kind == "hdf5" and shutil.which("h5ls"):
                        listed = subprocess.run(["h5ls", file], capture_output=True, text=True, check=True).stdout
                        self.assertEqual(listed.count("Dataset {160, 8, 8, 8}"), 24)
                    if kind == "hdf5" and shutil.which("h5dump"):
                        dumped = subprocess.run(["h5dump", "-H", file], capture_output=True, text=True, check=True).stdout
                        self.assertEqual(dumped.count("( 160, 8, 8, 8 )"), 2 * 24)
                        subprocess.run(["h5diff", file, file], check=True)

    def test_statistics(self):
        for mpi in MPIS:
            program = self.build(f"mpicc.{mpi}", "behaviour.c")
            line = os.path.join(self.where, f"{mpi}.json")
            with self.subTest(mpi=mpi):
                self.run_under(mpi, 2, [program, self.where], environment={"SHEAF_STATS": f"json:{line}"})
                with open(line) as lines:
                    found = [json.loads(text) for text in lines]
                self.assertGreater(len(found), 8)  # one for every file that is closed
                self.assertTrue(all(one["path"].startswith(self.where) for one in found))
                self.assertTrue(any(one["collective_writes"] >= 2 and one["bytes_written"] > 0 for one in found))


if __name__ == "__main__":
    unittest.main()
