#!/usr/bin/env python3
"""Programs in C, C++, Fortran (mpif.h, use mpi, use mpi_f08), Python, HDF5 and PnetCDF under the drop-in. It is
preloaded or linked before the MPI library, with both MPIs, with and without MPI_THREAD_MULTIPLE."""
import json
import os
import shutil
import subprocess
import unittest

from programs import BIN, DROP_IN, MPIS, Programs, yields

PROGRAM = """
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


def task_counts(mpi):
    return (1, 2, 5) if yields(mpi) else (1, 2)


class Behaviour(Programs):
    def test_c(self):
        for mpi in MPIS:
            linked = self.build(f"mpicc.{mpi}", "behaviour.c", f"-L{DROP_IN}", f"-Wl,-rpath,{DROP_IN}", "-lsheaf_mpiio",
                                name="linked")
            program = self.build(f"mpicc.{mpi}", "behaviour.c")
            for tasks in task_counts(mpi):
                for threads in ({}, {"BEHAVIOUR_THREADS": "1"}):
                    for command, preload in (([program, self.where], True), ([linked, self.where], False)):
                        with self.subTest(mpi=mpi, tasks=tasks, threads=threads, preload=preload):
                            self.assertIn("all right", self.run_under(mpi, tasks, command, preload, threads))

    def test_threads_of_nonblocking_calls(self):
        for mpi in MPIS:
            program = self.build(f"mpicc.{mpi}", "threads.c", "-rdynamic", "-ldl")
            for topology in ({}, {"SHEAF_TOPOLOGY": "node=1"}):
                with self.subTest(mpi=mpi, topology=topology):
                    command = [program, os.path.join(self.where, "file")]
                    self.assertIn("all right", self.run_under(mpi, 3 if yields(mpi) else 2, command, environment=topology))

    def test_block_size_of_the_environment(self):
        """The environment sets the block size without rebuilding or changing the program.

        See section 3.4 of the Blue Gene/L paper."""
        for mpi in MPIS:
            program = self.build(f"mpicc.{mpi}", "domains.c", "-rdynamic")
            tasks = 3 if yields(mpi) else 2
            for block in ("28672", "65536"):
                environment = {"SHEAF_BLOCK_SIZE": block, "SHEAF_TOPOLOGY": "node=1"}
                with self.subTest(mpi=mpi, block=block):
                    said = self.run_under(mpi, tasks, [program, os.path.join(self.where, "file"), block], environment=environment)
                    self.assertIn("all right", said)

    def test_tasks_that_change_their_directories(self):
        """Shared pointers, deletions and statistics refer to the opened files after tasks change directory."""
        for mpi in MPIS:
            program = self.build(f"mpicc.{mpi}", "directories.c")
            for tasks in task_counts(mpi):
                with self.subTest(mpi=mpi, tasks=tasks):
                    root = os.path.join(self.where, f"{mpi}{tasks}")
                    os.mkdir(root)
                    said = self.run_under(mpi, tasks, [program, root], environment={"SHEAF_STATS": "json:stats.json"})
                    self.assertIn("all right", said)
                    self.assertEqual(sorted(os.listdir(root)), sorted(["shared.io", "stats.json", *(f"own{n}" for n in range(tasks))]))

    def test_fortran(self):
        for mpi in MPIS:
            for binding, unit in ((1, "include 'mpif.h'"), (2, "use mpi"), (3, "use mpi_f08")):
                if not self.compiles(f"mpif90.{mpi}", unit):
                    continue
                program = self.build(f"mpif90.{mpi}", "fortran.F90", "-fallow-argument-mismatch", f"-DBINDING={binding}")
                with self.subTest(mpi=mpi, binding=binding):
                    self.assertIn("all right", self.run_under(mpi, 2, [program, os.path.join(self.where, "file")]))

    def compiles(self, compiler, unit):
        """Returns whether `unit` compiles. Some MPIs have no Fortran, or modules of another compiler."""
        source = os.path.join(self.where, "unit.f90")
        with open(source, "w") as file:
            file.write(f"program unit\n{unit}\nend program\n")
        return shutil.which(compiler) and not subprocess.run([compiler, "-c", source], capture_output=True, cwd=self.where).returncode

    def test_python(self):
        # Debian's mpi4py belongs to Open MPI.
        mpi, python = "openmpi", "/usr/bin/python3"
        if "SHEAF_MPI4PY" in os.environ:
            mpi, python = MPIS[0], os.environ["SHEAF_MPI4PY"]
        if mpi not in MPIS or subprocess.run([python, "-c", "import mpi4py, numpy"], capture_output=True).returncode:
            self.skipTest("no mpi4py")
        for tasks in (1, 3) if yields(mpi) else (1, 2):
            output = self.run_under(mpi, tasks, [python, "-c", PROGRAM, os.path.join(self.where, "file")])
            self.assertIn("all right", output)

    def test_hdf5_and_pnetcdf(self):
        file = os.path.join(self.where, "file")
        for mpi in MPIS:
            for kind in ("hdf5", "pnetcdf", "pnetcdf_nonblocking"):
                program = f"{BIN}/mpiio_flash_{kind}_{mpi}"
                if not os.path.exists(program):
                    continue
                with self.subTest(mpi=mpi, kind=kind):
                    self.run_under(mpi, 2, [program, file, "1", "8", "keep"])
                    if kind == "hdf5" and shutil.which("h5ls"):
                        listed = subprocess.run(["h5ls", file], capture_output=True, text=True, check=True).stdout
                        self.assertEqual(listed.count("Dataset {160, 8, 8, 8}"), 24)
                    if kind == "hdf5" and shutil.which("h5dump"):
                        dumped = subprocess.run(["h5dump", "-H", file], capture_output=True, text=True, check=True).stdout
                        self.assertEqual(dumped.count("( 160, 8, 8, 8 )"), 2 * 24)
                        subprocess.run(["h5diff", file, file], check=True)

    def test_cxx_with_statistics_printed_once(self):
        for mpi in MPIS:
            program = self.build(f"mpicxx.{mpi}", "behaviour.cpp", "-std=c++17")
            file = os.path.join(self.where, "file")
            with self.subTest(mpi=mpi):
                self.assertIn("all right", self.run_under(mpi, 2, [program, file], environment={"SHEAF_STATS": "1"}))
                self.assertEqual(self.said_beside.count(f"sheaf: {file}, 2 tasks\n"), 1, self.said_beside)
                self.assertIn("writes: 0 independent, 2 collective, 32000 bytes\n", self.said_beside)
                self.assertIn("reads:  2 independent, 0 collective, 32000 bytes\n", self.said_beside)
                self.run_under(mpi, 1, [program, file])
                self.assertNotIn("sheaf:", self.said_beside)

    def test_statistics_as_json(self):
        for mpi in MPIS:
            program = self.build(f"mpicc.{mpi}", "behaviour.c")
            line = os.path.join(self.where, f"{mpi}.json")
            with self.subTest(mpi=mpi):
                self.run_under(mpi, 2, [program, self.where], environment={"SHEAF_STATS": f"json:{line}"})
                with open(line) as lines:
                    found = [json.loads(text) for text in lines]
                self.assertGreater(len(found), 8)  # one for every closed file
                self.assertTrue(all(one["path"].startswith(self.where) for one in found))
                self.assertTrue(any(one["collective_writes"] >= 2 and one["bytes_written"] > 0 for one in found))


if __name__ == "__main__":
    unittest.main()
