#!/usr/bin/env python3
"""Views of every kind of datatype in every form of call, and invalid ones that must be rejected, against a byte model
(views.h); error handlers of files (handlers.c). Under both MPIs with the drop-in, with 1, 2 and 4 tasks.
SHEAF_VIEW_TURNS: choices of etype, memory and hints for each shape and way (4)."""
import os
import subprocess
import unittest

from programs import BIN, DROP_IN, MPIRUN, MPIS, Programs, yields

TURNS = os.environ.get("SHEAF_VIEW_TURNS", "4")
# MPICH's waiting tasks never yield: with more tasks than cores only some shapes are tested.
FEW = ("indexed_blocks", "darray_2", "smaller_between")
FATAL = {"fatal": "MPI_ERRORS_ARE_FATAL", "open": "MPI_ERRORS_ARE_FATAL", "abort": "MPI_ERRORS_ABORT"}


class Views(Programs):
    def all_right(self, mpi, tasks, *command, environment=None):
        said = self.run_under(mpi, tasks, list(command), environment=environment)
        self.assertRegex(said, r"(?m)^[1-9]\d* checks, 0 failed$")

    def test_views(self):
        for mpi in MPIS:
            program = f"{BIN}/mpiio_views_{mpi}"
            for tasks in (1, 2, 4):
                few = not yields(mpi) and tasks == 4
                for which in [("1", shape) for shape in FEW] if few else [(TURNS,)]:
                    with self.subTest(mpi=mpi, tasks=tasks, which=which):
                        self.all_right(mpi, tasks, program, self.where, *which)

    def test_views_with_threads(self):
        """Views work if threads of the file carry out nonblocking calls."""
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                threads = {"VIEWS_THREADS": "1"}
                self.all_right(mpi, 2, f"{BIN}/mpiio_views_{mpi}", self.where, "1", environment=threads)

    def test_handlers(self):
        for mpi in MPIS:
            for tasks, threads in ((1, {}), (2, {}), (2, {"HANDLERS_THREADS": "1"}), (4, {})):
                with self.subTest(mpi=mpi, tasks=tasks, threads=threads):
                    self.all_right(mpi, tasks, f"{BIN}/mpiio_handlers_{mpi}", self.where, environment=threads)

    def test_fatal_handlers_end_the_program(self):
        for mpi in MPIS:
            for how, name in FATAL.items():
                with self.subTest(mpi=mpi, how=how):
                    command = [MPIRUN, mpi, "1", "env", f"LD_PRELOAD={DROP_IN}/libsheaf_mpiio.so",
                               f"{BIN}/mpiio_handlers_{mpi}", self.where, how]
                    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
                    if "is not there" in done.stdout:
                        continue
                    self.assertNotEqual(done.returncode, 0, done.stdout + done.stderr)
                    self.assertNotIn("went on", done.stdout)
                    # Open MPI 5 has its own text for MPI_ERRORS_ABORT.
                    self.assertRegex(done.stderr, "fatal error|MPI_ERRORS_ABORT", name)


if __name__ == "__main__":
    unittest.main()
