#!/usr/bin/env python3
"""The examples of the README, as printed there, against an installation: in C, in Fortran, and the shell commands."""

from __future__ import annotations

import re
import shutil
import unittest

from installed import BUILD, FORTRAN, MPIS, ROOT, InstalledCase

README = (ROOT / "README.md").read_text()
TASKS = 18  # a shell command uses task 17

C_AROUND = """
int main(int argc, char **argv) {{
  double data[10] = {{0}};
  size_t count = 10;
  MPI_Init(&argc, &argv);
  {body}
  MPI_Finalize();
  return sid < 0;
}}
"""

FORTRAN_AROUND = """program app
use mpi
use sion_f90_mpi
implicit none
{declarations}
real(8) :: values(10) = 1
call MPI_Init(ierr)
{calls}
call MPI_Finalize(ierr)
if (done /= 10) stop 1
end program
"""

MPI_IO = """
#include <mpi.h>
int main(int argc, char **argv) {
  MPI_File file;
  MPI_Init(&argc, &argv);
  MPI_File_open(MPI_COMM_WORLD, "x", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  MPI_File_write_ordered(file, "text", 4, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  return MPI_Finalize();
}
"""


def block(language: str, number: int = 0) -> str:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)[number]


@unittest.skipUnless(MPIS, "the examples are MPI programs")
class Readme(InstalledCase):
    def setUp(self):
        super().setUp()
        shims = self.directory / "shims"  # mpicc and mpirun of the first MPI, for any number of tasks
        shims.mkdir()
        for name in ("mpicc", "mpif90"):
            (shims / name).write_text(f'#!/bin/sh\nexec {name}.{MPIS[0]} "$@"\n')
        (shims / "mpirun").write_text(f'#!/bin/sh\nshift\nexec {ROOT}/scripts/mpirun.sh {MPIS[0]} "$@"\n')
        for shim in shims.iterdir():
            shim.chmod(0o755)
        path = [str(shims), str(self.prefix / "bin"), str(BUILD / "mpi"), self.environment["PATH"]]
        self.environment |= {"PATH": ":".join(path), "PREFIX": str(self.prefix)}

    def shell(self, line):
        return self.run_command("bash", "-c", line)

    def write_as_in_c(self):
        lines = block("c").splitlines()
        includes = [line for line in lines if line.startswith("#include")]
        body = "\n  ".join(line for line in lines if not line.startswith("#include"))
        self.source("app.c", "\n".join(includes) + C_AROUND.format(body=body))
        self.shell(re.search(r"`(mpicc [^`]*)`", README)[1])
        self.shell(f"mpirun -n {TASKS} ./app")

    def test_c_and_the_shell(self):
        self.write_as_in_c()
        for line in block("sh").splitlines():
            with self.subTest(line=line):
                self.shell(line.replace("sheaf-partest", "sheaf-partest -s 100k"))
        self.assertEqual(len(list(self.directory.glob("rank.*"))), TASKS)

    @unittest.skipUnless(FORTRAN and shutil.which(f"mpif90.{MPIS[0]}") if MPIS else False, "no Fortran")
    def test_fortran(self):
        lines = block("fortran").splitlines()
        declarations = [line for line in lines if "::" in line]
        calls = [line for line in lines if "::" not in line]
        self.source("app.f90", FORTRAN_AROUND.format(declarations="\n".join(declarations), calls="\n".join(calls)))
        self.shell("mpif90 $(sionconfig --cflags --mpi --f90) app.f90 -o app $(sionconfig --libs --mpi --f90)")
        self.shell("mpirun -n 2 ./app")
        self.shell("sheaf verify data.sion")

    def test_mpi_io(self):
        self.source("program.c", MPI_IO)
        self.shell("mpicc program.c -o program")
        self.shell(block("sh", 1))
        self.assertEqual((self.directory / "x").read_bytes(), b"text" * 8)


if __name__ == "__main__":
    unittest.main()
