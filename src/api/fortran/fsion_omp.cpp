// OpenMP calls for Fortran.
#include "api/fortran/fsion.hpp"
#include "sion_omp.h"

using namespace sheaf::fortran;

SHEAF_FORTRAN void sheaf_private_fortran_paropen_omp(const char* fname, const char* file_mode,
                                                     sion_int64* chunksize, int* fsblksize, int* globalrank,
                                                     char* newfname, int* sid, int fname_length,
                                                     int mode_length, int newfname_length) {
  paropen(sid, {newfname, newfname_length}, [&](char** physical) {
    return sion_paropen_omp(text(fname, fname_length).c_str(), text(file_mode, mode_length).c_str(),
                            chunksize, fsblksize, globalrank, nullptr, physical);
  });
}

// Opens a multifile. newfname is not set, because FORTRAN 77 programs may pass a constant for it.
SHEAF_ROUTINE(fsion_paropen_omp, const char* fname, const char* file_mode, sion_int64* chunksizes,
              int* fsblksize, int* globalranks, char*, int* sid, int fname_length, int mode_length, int) {
  sheaf_private_fortran_paropen_omp(fname, file_mode, chunksizes, fsblksize, globalranks, nullptr, sid,
                                    fname_length, mode_length, 0);
}

SHEAF_CALL(parclose_omp)
