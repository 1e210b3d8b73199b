// The MPI calls for Fortran; compiled for every MPI, because only the MPI knows what its Fortran handles stand for.
// The modules and FORTRAN 77 programs are the same for all of them.
#include <mpi.h>

#include "api/fortran/fsion.hpp"
#include "sion.h"

using namespace sheaf::fortran;

SHEAF_FORTRAN void sheaf_fortran_paropen_mpi(const char* fname, const char* file_mode, int* nfiles,
                                             const MPI_Fint* fgcomm, const MPI_Fint* flcomm, sion_int64* chunksize,
                                             int* fsblksize, int* globalrank, char* newfname, int* sid,
                                             int fname_length, int mode_length, int newfname_length) {
  paropen(sid, {newfname, newfname_length}, [&](char** physical) {
    int initialized = 0;
    MPI_Initialized(&initialized);
    const MPI_Comm global = initialized ? MPI_Comm_f2c(*fgcomm) : MPI_COMM_NULL;
    const MPI_Comm local = initialized ? MPI_Comm_f2c(*flcomm) : MPI_COMM_NULL;
    return sion_paropen_mpi(text(fname, fname_length).c_str(), text(file_mode, mode_length).c_str(), nfiles, global,
                            &local, chunksize, fsblksize, globalrank, nullptr, physical);
  });
}

// Leaves newfname alone, as in the original: FORTRAN 77 programs may pass a constant.
SHEAF_FORTRAN void fsion_paropen_mpi_c_(const char* fname, const char* file_mode, int* nfiles, const MPI_Fint* fgcomm,
                                        const MPI_Fint* flcomm, sion_int64* chunksizes, int* fsblksize,
                                        int* globalrank, char*, int* sid, int fname_length, int mode_length, int) {
  sheaf_fortran_paropen_mpi(fname, file_mode, nfiles, fgcomm, flcomm, chunksizes, fsblksize, globalrank, nullptr, sid,
                            fname_length, mode_length, 0);
}
SHEAF_F77(fsion_paropen_mpi);
SHEAF_ALIAS(fsion_paropen_multi_mpi_c_, fsion_paropen_mpi_c_);

SHEAF_FORTRAN void fsion_parclose_mpi_c_(const int* sid, int* ierr) { *ierr = sion_parclose_mpi(*sid); }
SHEAF_F77(fsion_parclose_mpi);
