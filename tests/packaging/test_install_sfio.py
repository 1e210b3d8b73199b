"""Programs with striped files find an installation: pkg-config, CMake package, Fortran module, the listener
program."""

from __future__ import annotations

import shutil
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from installed import FORTRAN, MPIS, ROOT, InstalledCase  # noqa: E402

C_SFIO = """
#include <mpi.h>
#include <stdio.h>
#include "sfio.h"
int main(int argc, char **argv) {
  int level, me;
  MPI_Comm compute;
  MFILE *f;
  char back[14] = "";
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  if (sfio_start(MPI_COMM_WORLD, NULL, &compute) != 0) return 1;
  MPI_Comm_rank(compute, &me);
  f = mopen("#0,/a.dat;#0,/b.dat;", 5);
  if (!f) MPI_Abort(MPI_COMM_WORLD, 2);
  mwritec(f, 13L * me, "Hello*World!*", 13);
  mreadc(f, 13L * me, back, 13);
  mclose(f);
  if (me == 0) puts(back[12] == '*' ? "works" : "wrong");
  MPI_Finalize();
  return 0;
}
"""

C_PAPER = """
#include <mpi.h>
#include <stdio.h>
#include "mio.h"
int _main(int argc, char *argv[]) {
  MFILE *f = mopen("#0,/a1.dat;#0,/a2.dat;", 5);
  (void)argc, (void)argv;
  if (rank() == 0) mwritec(f, 0, "Hello World", 11);
  mclose(f);
  if (rank() == 0) puts("works");
  return 0;
}
"""

F90_SFIO = """
program client
  use, intrinsic :: iso_c_binding
  use mpi
  use sfio_f90
  implicit none
  character(13), target :: text = 'Hello*World!*', back
  type(c_ptr) :: f
  integer :: ierr, level, compute, me
  integer(c_int64_t) :: moved
  call MPI_Init_thread(MPI_THREAD_MULTIPLE, level, ierr)
  call sfio_start(MPI_COMM_WORLD, ' ', compute, ierr)
  call MPI_Comm_rank(compute, me, ierr)
  call mopen('#0,/a.dat;#0,/b.dat;', 5, f, ierr)
  call mwritec(f, 13_8 * me, text, 13_8, moved)
  call mreadc(f, 13_8 * me, back, 13_8, moved)
  call mclose(f, ierr)
  if (me == 0 .and. back == text .and. ierr == 0) print '(a)', 'works'
  call MPI_Finalize(ierr)
end program
"""

CMAKE = """
cmake_minimum_required(VERSION 3.16)
project(client LANGUAGES)
enable_language(@LANGUAGE@)
find_package(Sheaf 1.0 REQUIRED COMPONENTS @COMPONENTS@ CONFIG)
add_executable(client @SOURCE@)
target_link_libraries(client PRIVATE @TARGET@)
"""


class StripedFiles(InstalledCase):
    def setUp(self):
        super().setUp()
        self.environment |= {"SHEAF_SFIO": "thread", "SHEAF_SFIO_HOSTS": "n0,n1", "SHEAF_SFIO_ROOT": str(self.directory)}
        for host in ("n0", "n1"):
            (self.directory / host).mkdir()

    @unittest.skipUnless(shutil.which("pkg-config"), "no pkg-config")
    def test_pkg_config(self):
        self.environment["PKG_CONFIG_PATH"] = str(self.prefix / "lib" / "pkgconfig")
        for mpi in MPIS:
            flags = self.run_command("pkg-config", "--cflags", "--libs", f"sheaf-sfio-{mpi}").split()
            with self.subTest(mpi=mpi):
                self.run_command(f"mpicc.{mpi}", self.source("x.c", C_SFIO), "-o", "client", *flags)
                self.works(mpi)
            with self.subTest(mpi=mpi, style="paper"):
                self.run_command(f"mpicc.{mpi}", self.source("p.c", C_PAPER), "-o", "client",
                                 f"-L{self.prefix}/lib/{mpi}", "-lsheaf_sfio_main", *flags)
                self.works(mpi)
            if FORTRAN:
                with self.subTest(mpi=mpi, language="Fortran"):
                    flags = self.run_command("pkg-config", "--cflags", "--libs", f"sheaf-fortran-sfio-{mpi}").split()
                    self.run_command(f"mpif90.{mpi}", self.source("x.f90", F90_SFIO), "-o", "client", *flags)
                    self.works(mpi)

    def test_cmake_package(self):
        clients = [("C", "x.c", C_SFIO, "Sheaf::sfio", "mpicc", "sfio"), ("C", "p.c", C_PAPER, "Sheaf::sfio_main", "mpicc", "sfio")]
        if FORTRAN:
            clients.append(("Fortran", "x.f90", F90_SFIO, "Sheaf::fortran_sfio", "mpif90", "sfio fortran"))
        for mpi in MPIS:
            for language, name, text, target, compiler, components in clients:
                with self.subTest(mpi=mpi, target=target):
                    self.setUp()
                    self.source(name, text)
                    project = CMAKE
                    for word, value in (("@LANGUAGE@", language), ("@SOURCE@", name), ("@TARGET@", target),
                                        ("@COMPONENTS@", components)):
                        project = project.replace(word, value)
                    self.source("CMakeLists.txt", project)
                    self.run_command("cmake", "-S", ".", "-B", "out", f"-DCMAKE_PREFIX_PATH={self.prefix}",
                                     f"-DCMAKE_{language}_COMPILER={compiler}.{mpi}")
                    self.run_command("cmake", "--build", "out")
                    self.works(mpi, "out/client")

    def test_listener_program_of_every_mpi(self):
        """bin/sheaf-iod starts the listener program that belongs to the launcher."""
        self.environment["PKG_CONFIG_PATH"] = str(self.prefix / "lib" / "pkgconfig")
        del self.environment["SHEAF_SFIO"]
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                flags = self.run_command("pkg-config", "--cflags", "--libs", f"sheaf-sfio-{mpi}").split()
                self.run_command(f"mpicc.{mpi}", self.source("x.c", C_SFIO), "-o", "client", *flags)
                said = self.run_command(ROOT / "scripts" / "mpirun.sh", mpi, 1, "./client", ":", "-np", 1,
                                        self.prefix / "bin" / "sheaf-iod", "--name", "n0", "--root", self.directory)
                self.assertEqual(said.strip(), "works")
                self.assertEqual((self.directory / "n0" / "a.dat").read_bytes(), b"Hellod!*")
            self.environment["SHEAF_MPI"] = mpi
            self.assertIn("--root DIR", self.run_command(self.prefix / "bin" / "sheaf-iod", "--help"))
            del self.environment["SHEAF_MPI"]

    def test_what_is_installed(self):
        names = ["include/sfio.h", "include/mio.h", "bin/sheaf-iod"]
        for mpi in MPIS:
            names += [f"lib/{mpi}/libsheaf_sfio.so", f"lib/{mpi}/libsheaf_sfio.a", f"lib/{mpi}/libsheaf_sfio_main.a",
                      f"libexec/sheaf/{mpi}/sheaf-iod"]
            if FORTRAN:
                names += [f"lib/{mpi}/libsheaf_fortran_sfio.so"]
        if FORTRAN:
            names += ["include/mod_64/sfio_f90.mod"]
        self.assertEqual([name for name in names if not (self.prefix / name).exists()], [])


if __name__ == "__main__":
    unittest.main()
