// Hybrid calls for Fortran. Compiled with OpenMP and, as fsion_mpi.cpp, for every MPI library.
#include <mpi.h>
#include <omp.h>

#include "api/fortran/fsion.hpp"
#include "sion.h"

using namespace sheaf::fortran;

namespace {

// Returns the communicator of `handle` on the master thread, the only thread that may call MPI. Returns
// MPI_COMM_NULL on other threads, since sion_paropen_ompi ignores their communicators.
MPI_Comm communicator(MPI_Fint handle) {
  int initialized = 0;
  if (omp_get_thread_num() == 0) MPI_Initialized(&initialized);
  return initialized ? MPI_Comm_f2c(handle) : MPI_COMM_NULL;
}

}  // namespace

SHEAF_FORTRAN void sheaf_private_fortran_paropen_ompi(const char* fname, const char* file_mode, int* nfiles,
                                                      const MPI_Fint* fgcomm, const MPI_Fint* flcomm,
                                                      sion_int64* chunksize, int* fsblksize, int* globalrank,
                                                      char* newfname, int* sid, int fname_length,
                                                      int mode_length, int newfname_length) {
  paropen(sid, {newfname, newfname_length}, [&](char** physical) {
    const MPI_Comm local = communicator(*flcomm);
    IntegerArgument files(nfiles);
    IntegerArgument rank(globalrank);
    return sion_paropen_ompi(text(fname, fname_length).c_str(), text(file_mode, mode_length).c_str(),
                             files.value(), communicator(*fgcomm), &local, chunksize, fsblksize, rank.value(),
                             nullptr, physical);
  });
}

// Opens a multifile. newfname is not set, because FORTRAN 77 programs may pass a constant for it.
SHEAF_ROUTINE(fsion_paropen_ompi, const char* fname, const char* file_mode, int* nfiles,
              const MPI_Fint* fgcomm, const MPI_Fint* flcomm, sion_int64* chunksizes, int* fsblksize,
              int* globalranks, char*, int* sid, int fname_length, int mode_length, int) {
  sheaf_private_fortran_paropen_ompi(fname, file_mode, nfiles, fgcomm, flcomm, chunksizes, fsblksize,
                                     globalranks, nullptr, sid, fname_length, mode_length, 0);
}
SHEAF_ALIAS(fsion_paropen_multi_ompi_c_, fsion_paropen_ompi_c_);

SHEAF_CALL(parclose_ompi)
