"""Shared by the tests of the installation: a fresh prefix, commands, small clients for every interface."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("SHEAF_BIN", ROOT / "build" / "bin")).resolve().parent
# A prefix in which packages have already installed Sheaf; otherwise the build is installed in a new one.
INSTALLED = os.environ.get("SHEAF_INSTALLED")
MPIS = [mpi for mpi in (INSTALLED and os.environ.get("SHEAF_INSTALLED_MPIS") or "openmpi mpich").split()
        if shutil.which(f"mpicc.{mpi}") and (INSTALLED or (BUILD / "lib" / mpi).exists())]
FORTRAN = bool(shutil.which("gfortran")) if INSTALLED else (BUILD / "lib" / "libsheaf_fortran.so").exists()
# MPICH waits actively: many tasks on few cores are slow.
SECONDS = int(os.environ.get("SHEAF_SECONDS", 600 if INSTALLED else 60))

C_SERIAL = """
#include <stdio.h>
#include "sion.h"
int main(void) {
  int ntasks = 1, nfiles = 1, rank = 0, *ranks = &rank, back = 0;
  sion_int64 chunk = 100, *chunks = &chunk;
  sion_int32 block = 512;
  int sid = sion_open("c.sion", "wb", &ntasks, &nfiles, &chunks, &block, &ranks, NULL);
  if (sion_fwrite("four", 1, 4, sid) != 4 || sion_close(sid) != SION_SUCCESS) return 1;
  sid = sion_open("/nonexistent/file", "rb", NULL, NULL, NULL, NULL, NULL, NULL);
  if (sid != -1) return 2;
  sid = sion_open("c.sion", "rb", NULL, NULL, NULL, NULL, NULL, NULL);
  if (sion_fread(&back, 4, 1, sid) != 1 || sion_close(sid) != SION_SUCCESS) return 3;
  puts("works");
  return 0;
}
"""

C_MPI = """
#include <mpi.h>
#include <stdio.h>
#include "sion.h"
int main(int argc, char **argv) {
  int files = 1, rank = -1, back = -1, sid, refused;
  sion_int64 chunk = 100;
  sion_int32 block = 512;
  MPI_Comm all = MPI_COMM_WORLD, group = MPI_COMM_NULL;
  MPI_Init(&argc, &argv);
  sid = sion_paropen_mpi("mpi.sion", "wb", &files, all, &group, &chunk, &block, &rank, NULL, NULL);
  if (sion_fwrite(&rank, 4, 1, sid) != 1 || sion_parclose_mpi(sid) != SION_SUCCESS) MPI_Abort(all, 1);
  refused = sion_paropen_mpi("/nonexistent/file", "rb", &files, all, &group, &chunk, &block, &rank, NULL, NULL);
  if (refused != -1) MPI_Abort(all, 2);
  sid = sion_paropen_mpi("mpi.sion", "rb", &files, all, &all, &chunk, &block, &rank, NULL, NULL);
  if (sion_fread(&back, 4, 1, sid) != 1 || back != rank || sion_parclose_mpi(sid) != SION_SUCCESS) MPI_Abort(all, 3);
  MPI_Barrier(all);
  if (rank == 0) puts("works");
  MPI_Finalize();
  return 0;
}
"""

CXX_SERIAL = """
#include <iostream>
#include "sion_cxx.h"
#include "sion_cxx_serial.hpp"
int main() {
  sion_int64 chunk = 100;
  int rank = 0, back = 0;
  sionlib::serial::SIONFile out("cxx.sion", "wb");
  out.setChunkSizes(&chunk);
  out.setGlobalRanks(&rank);
  out.open();
  out << 4711;
  if (out.close() != SION_SUCCESS) return 1;
  sionlib::serial::SIONFile in("cxx.sion", "rb");
  in.setChunkSizes(&chunk);
  in.setGlobalRanks(&rank);
  in.open();
  in.read(&back);
  in.close();
  if (back == 4711) std::cout << "works" << std::endl;
}
"""

CXX_MPI = """
#include <mpi.h>
#include <iostream>
#include "sion_cxx.h"
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int back = -1, rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  sionlib::mpi::SIONFile out("cxxmpi.sion", "bw", 1, rank);
  out.open();
  out << rank;
  out.close();
  sionlib::mpi::SIONFile in("cxxmpi.sion", "br", 1, rank);
  in.open();
  in >> back;
  in.close();
  if (back != rank) MPI_Abort(MPI_COMM_WORLD, 1);
  if (rank == 0) std::cout << "works" << std::endl;
  MPI_Finalize();
}
"""

F77_SERIAL = """
      program client
      include 'sion_f77.h'
      integer ntasks, nfiles, block, rank, sid, ierr, number
      integer*8 chunk, rc
      ntasks = 1
      nfiles = 1
      block = 512
      rank = 0
      chunk = 100
      call fsion_open('f77.sion', 'bw', ntasks, nfiles, chunk, block,
     &                rank, sid)
      call fsion_write(4711, 4_8, 1_8, sid, rc)
      call fsion_close(sid, ierr)
      call fsion_open('f77.sion', 'br', ntasks, nfiles, chunk, block,
     &                rank, sid)
      call fsion_read(number, 4_8, 1_8, sid, rc)
      call fsion_close(sid, ierr)
      if (number .eq. 4711) print '(a)', 'works'
      end
"""

F90_SERIAL = """
program client
  use sion_f90
  implicit none
  integer :: ntasks = 1, nfiles = 1, block = 512, rank = 0, sid, ierr, number(2) = 4711
  integer(8) :: chunk = 100, rc
  character(len=20) :: name = 'f90.sion'
  call fsion_open(name, 'bw', ntasks, nfiles, chunk, block, rank, sid)
  call fsion_write(number, 4_8, 2_8, sid, rc)
  call fsion_write(2.5d0, 8_8, 1_8, sid, rc)
  call fsion_close(sid, ierr)
  call fsion_open(name, 'br', ntasks, nfiles, chunk, block, rank, sid)
  call fsion_read(number, 4_8, 2_8, sid, rc)
  call fsion_close(sid, ierr)
  if (all(number == 4711) .and. rc == 2) print '(a)', 'works'
end program
"""

F77_MPI = """
      program client
      include 'mpif.h'
      include 'sion_f77.h'
      integer nfiles, block, rank, sid, ierr
      integer*8 chunk, rc
      call MPI_Init(ierr)
      nfiles = 1
      block = 512
      chunk = 100
      call fsion_paropen_mpi('f77mpi.sion', 'bw', nfiles,
     & MPI_COMM_WORLD, MPI_COMM_WORLD, chunk, block, rank, ' ', sid)
      call fsion_write(rank, 4_8, 1_8, sid, rc)
      call fsion_parclose_mpi(sid, ierr)
      if (rank .eq. 0 .and. ierr .eq. 1) print '(a)', 'works'
      call MPI_Finalize(ierr)
      end
"""

F90_MPI = """
program client
  use mpi_f08
  use sion_f90_mpi
  implicit none
  integer :: nfiles = 1, block = 512, rank, sid, ierr, number = -1
  integer(8) :: chunk = 100, rc
  character(len=100) :: newname
  call MPI_Init(ierr)
  call fsion_paropen_mpi('f90mpi.sion', 'bw', nfiles, MPI_COMM_WORLD, MPI_COMM_WORLD, chunk, block, rank, newname, sid)
  call fsion_write(rank, 4_8, 1_8, sid, rc)
  call fsion_parclose_mpi(sid, ierr)
  call fsion_paropen_mpi('f90mpi.sion', 'br', nfiles, MPI_COMM_WORLD%MPI_VAL, MPI_COMM_NULL%MPI_VAL, chunk, block, &
                         rank, newname, sid)
  call fsion_read(number, 4_8, 1_8, sid, rc)
  call fsion_parclose_mpi(sid, ierr)
  if (number /= rank) call MPI_Abort(MPI_COMM_WORLD, 1)
  if (rank == 0 .and. newname == 'f90mpi.sion') print '(a)', 'works'
  call MPI_Finalize(ierr)
end program
"""


C_OMP = """
#include <omp.h>
#include <stdio.h>
#include "sion.h"
int main(void) {
  int bad = 0;
#pragma omp parallel num_threads(3) reduction(+ : bad)
  {
    sion_int64 chunk = 100;
    sion_int32 block = 512;
    int rank = -1, back = -1, sid;
    sid = sion_paropen_omp("omp.sion", "wb", &chunk, &block, &rank, NULL, NULL);
    bad += sion_fwrite(&rank, 4, 1, sid) != 1 || sion_parclose_omp(sid) != SION_SUCCESS;
    sid = sion_paropen_omp("omp.sion", "rb", &chunk, &block, NULL, NULL, NULL);
    bad += sion_fread(&back, 4, 1, sid) != 1 || sion_parclose_omp(sid) != SION_SUCCESS;
    bad += back != omp_get_thread_num();
  }
  if (bad == 0) puts("works");
  return bad;
}
"""

C_OMPI = """
#include <mpi.h>
#include <stdio.h>
#include "sion.h"
int main(int argc, char **argv) {
  int bad = 0, process, provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &process);
#pragma omp parallel num_threads(2) reduction(+ : bad)
  {
    MPI_Comm group = MPI_COMM_NULL;
    sion_int64 chunk = 100;
    sion_int32 block = 512;
    int files = 1, rank = -1, sid;
    sid = sion_paropen_ompi("ompi.sion", "wb", &files, MPI_COMM_WORLD, &group, &chunk, &block, &rank, NULL, NULL);
    bad += sion_fwrite(&rank, 4, 1, sid) != 1 || sion_parclose_ompi(sid) != SION_SUCCESS || rank / 2 != process;
  }
  if (bad == 0 && process == 0) puts("works");
  MPI_Finalize();
  return bad;
}
"""

F90_OMP = """
program client
  use sion_f90_omp
  implicit none
  integer :: block, rank, sid, ierr, bad
  integer(8) :: chunk, rc
  character(len=20) :: newname
  bad = 0
  !$omp parallel num_threads(3) private(block, rank, sid, ierr, chunk, rc, newname) reduction(+:bad)
  block = 512
  chunk = 100
  call fsion_paropen_omp('f90omp.sion', 'bw', chunk, block, rank, newname, sid)
  call fsion_write(rank, 4_8, 1_8, sid, rc)
  call fsion_parclose_omp(sid, ierr)
  if (rc /= 1 .or. ierr /= sion_success .or. newname /= 'f90omp.sion') bad = bad + 1
  !$omp end parallel
  if (bad == 0) print '(a)', 'works'
end program
"""

F90_OMPI = """
program client
  use mpi_f08
  use sion_f90_ompi
  implicit none
  integer :: files, block, rank, process, sid, ierr, bad, provided
  integer(8) :: chunk, rc
  character(len=20) :: newname
  call MPI_Init_thread(MPI_THREAD_FUNNELED, provided)
  call MPI_Comm_rank(MPI_COMM_WORLD, process)
  bad = 0
  !$omp parallel num_threads(2) private(files, block, rank, sid, ierr, chunk, rc, newname) reduction(+:bad)
  files = 1
  block = 512
  chunk = 100
  call fsion_paropen_ompi('f90ompi.sion', 'bw', files, MPI_COMM_WORLD, MPI_COMM_WORLD, chunk, block, rank, newname, sid)
  call fsion_write(rank, 4_8, 1_8, sid, rc)
  call fsion_parclose_ompi(sid, ierr)
  if (rc /= 1 .or. ierr /= sion_success .or. rank/2 /= process) bad = bad + 1
  !$omp end parallel
  if (bad == 0 .and. process == 0) print '(a)', 'works'
  call MPI_Finalize()
end program
"""

F77_OMP = """
      program client
      include 'sion_f77.h'
      integer block, rank, sid, ierr
      integer*8 chunk, rc
c$omp parallel num_threads(3) private(block, rank, sid, ierr, chunk, rc)
      block = 512
      chunk = 100
      call fsion_paropen_omp('f77omp.sion', 'bw', chunk, block, rank,
     &                       ' ', sid)
      call fsion_write(rank, 4_8, 1_8, sid, rc)
      call fsion_parclose_omp(sid, ierr)
      if (rank .eq. 0 .and. ierr .eq. 1) print '(a)', 'works'
c$omp end parallel
      end
"""

F77_OMPI = """
      program client
      include 'mpif.h'
      include 'sion_f77.h'
      integer files, block, rank, sid, ierr
      integer*8 chunk, rc
      call MPI_Init(ierr)
c$omp parallel num_threads(2) private(files, block, rank, sid, ierr)
c$omp& private(chunk, rc)
      files = 1
      block = 512
      chunk = 100
      call fsion_paropen_ompi('f77ompi.sion', 'bw', files,
     & MPI_COMM_WORLD, MPI_COMM_WORLD, chunk, block, rank, ' ', sid)
      call fsion_write(rank, 4_8, 1_8, sid, rc)
      call fsion_parclose_ompi(sid, ierr)
      if (rank .eq. 0 .and. ierr .eq. 1) print '(a)', 'works'
c$omp end parallel
      call MPI_Finalize(ierr)
      end
"""


class InstalledCase(unittest.TestCase):
    """One installation for all tests of a class; every test runs in a directory of its own."""

    @classmethod
    def setUpClass(cls):
        cls.place = Path(tempfile.mkdtemp(prefix="sheaf-install-"))
        cls.prefix = Path(INSTALLED) if INSTALLED else cls.place / "prefix"
        if INSTALLED:
            return
        subprocess.run(["cmake", "--install", BUILD, "--prefix", cls.prefix], check=True, stdout=subprocess.DEVNULL)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.place)

    def setUp(self):
        self.directory = Path(tempfile.mkdtemp(dir=self.place))
        # Only the link lines may help a program find its libraries.
        self.environment = {k: v for k, v in os.environ.items() if k not in ("LD_LIBRARY_PATH", "LD_RUN_PATH")}

    def run_command(self, *command, code=0):
        done = subprocess.run([str(word) for word in command], cwd=self.directory, env=self.environment,
                              capture_output=True, text=True, timeout=SECONDS)
        self.assertEqual(done.returncode, code, f"{command}\n{done.stdout}{done.stderr}")
        return done.stdout

    def config(self, *options):
        return self.run_command(self.prefix / "bin" / "sionconfig", *options).strip()

    def source(self, name, text):
        (self.directory / name).write_text(text.lstrip("\n") if name.endswith((".f90", ".c", ".cpp")) else text)
        return name

    def classic(self, compiler, name, text, *options, flags=()):
        """Compiles as clients do: COMPILER $(sionconfig --cflags ...) x.c -o x $(sionconfig --libs ...)."""
        source = self.source(name, text)
        self.run_command(*compiler.split(), *flags, *self.config("--cflags", *options).split(), source, "-o", "client",
                         *self.config("--libs", *options).split())

    def works(self, mpi=None, program="./client"):
        launch = [ROOT / "scripts" / "mpirun.sh", mpi, 2] if mpi else []
        self.assertEqual(self.run_command(*launch, program).strip(), "works")
