#!/usr/bin/env python3
"""Errors of nonblocking calls reach the calls that complete their requests, in C (completion.c) and Fortran
(completion.F90). Failed writes are reported by MPI_File_sync and MPI_File_close until they have been repeated
(unwritten.c)."""
import os
import shutil
import subprocess
import unittest

from programs import MPIRUN, DROP_IN, MPIS, Programs, yields


class Completion(Programs):
    def test_every_call_in_c(self):
        for mpi in MPIS:
            program = self.build(f"mpicc.{mpi}", "completion.c")
            linked = self.build(f"mpicc.{mpi}", "completion.c", f"-L{DROP_IN}", f"-Wl,-rpath,{DROP_IN}", "-lsheaf_mpiio",
                                name="linked")
            for threads in ({}, {"COMPLETION_THREADS": "1"}):
                for command, preload in ((program, True), (linked, False)):
                    with self.subTest(mpi=mpi, threads=threads, preload=preload):
                        said = self.run_under(mpi, 1, [command, os.path.join(self.where, "file")], preload, threads)
                        self.assertIn("all right", said)

    def test_a_fatal_handler_of_the_file_ends_the_program(self):
        for mpi in MPIS:
            program = self.build(f"mpicc.{mpi}", "completion.c")
            done = subprocess.run([MPIRUN, mpi, "1", "env", f"LD_PRELOAD={DROP_IN}/libsheaf_mpiio.so", program,
                                   os.path.join(self.where, "file"), "fatal"], capture_output=True, text=True, timeout=200)
            self.assertNotEqual(done.returncode, 0)
            self.assertNotIn("went on", done.stdout)
            self.assertIn("fatal error on a file", done.stderr)

    def test_every_call_in_fortran(self):
        for mpi in MPIS:
            for binding in (1, 2, 3):
                if not shutil.which(f"mpif90.{mpi}"):
                    continue
                try:
                    program = self.build(f"mpif90.{mpi}", "completion.F90", "-fallow-argument-mismatch", f"-DBINDING={binding}")
                except subprocess.CalledProcessError:
                    continue  # modules of another compiler; test_behaviour reports it
                with self.subTest(mpi=mpi, binding=binding):
                    self.assertIn("all right", self.run_under(mpi, 1, [program, os.path.join(self.where, "file")]))

    def test_a_tool_behind_the_drop_in_still_counts_calls(self):
        source = os.path.join(self.where, "tool.c")
        with open(source, "w") as file:
            file.write("#include <mpi.h>\n#include <stdio.h>\nint MPI_Wait(MPI_Request* q, MPI_Status* s) {\n"
                       "  static int said;\n  if (!said++) puts(\"the tool sees it\");\n  return PMPI_Wait(q, s);\n}\n")
        for mpi in MPIS:
            program = self.build(f"mpicc.{mpi}", "completion.c")
            tool = os.path.join(self.where, f"libtool_{mpi}.so")
            subprocess.run([f"mpicc.{mpi}", "-shared", "-fPIC", source, "-o", tool], check=True)
            said = self.run_under(mpi, 1, ["env", f"LD_PRELOAD={DROP_IN}/libsheaf_mpiio.so:{tool}", program,
                                           os.path.join(self.where, "file")], False)
            self.assertIn("the tool sees it", said)
            self.assertIn("all right", said)


class Unwritten(Programs):
    def test_sync_and_close_fail_until_the_bytes_are_written(self):
        for mpi in MPIS:
            program = self.build(f"mpicc.{mpi}", "unwritten.c")
            for tasks in (1, 3) if yields(mpi) else (1, 2):
                for environment in ({}, {"SHEAF_TOPOLOGY": "node=1"}, {"UNWRITTEN_THREADS": "1"}):
                    with self.subTest(mpi=mpi, tasks=tasks, environment=environment):
                        said = self.run_under(mpi, tasks, [program, os.path.join(self.where, "file")], environment=environment)
                        self.assertIn("all right", said)


if __name__ == "__main__":
    unittest.main()
