// MPI calls for Fortran. Compiled for every MPI library, because only the library can convert its Fortran
// handles. Modules and FORTRAN 77 programs are the same for all libraries.
#include <mpi.h>

#include "api/fortran/fsion.hpp"
#include "sheaf_mpi.h"
#include "sion.h"

using namespace sheaf::fortran;

namespace {

// Returns MPI_COMM_NULL before MPI_Init.
MPI_Comm communicator(MPI_Fint handle) {
  int initialized = 0;
  MPI_Initialized(&initialized);
  return initialized ? MPI_Comm_f2c(handle) : MPI_COMM_NULL;
}

}  // namespace

SHEAF_FORTRAN void sheaf_private_fortran_paropen_mpi(const char* fname, const char* file_mode, int* nfiles,
                                                     const MPI_Fint* fgcomm, const MPI_Fint* flcomm,
                                                     sion_int64* chunksize, int* fsblksize, int* globalrank,
                                                     char* newfname, int* sid, int fname_length,
                                                     int mode_length, int newfname_length) {
  paropen(sid, {newfname, newfname_length}, [&](char** physical) {
    const MPI_Comm local = communicator(*flcomm);
    IntegerArgument files(nfiles);
    IntegerArgument rank(globalrank);
    return sion_paropen_mpi(text(fname, fname_length).c_str(), text(file_mode, mode_length).c_str(),
                            files.value(), communicator(*fgcomm), &local, chunksize, fsblksize, rank.value(),
                            nullptr, physical);
  });
}

// Opens a multifile. As in the original library, newfname is not set, because FORTRAN 77 programs may pass a
// constant for it.
SHEAF_ROUTINE(fsion_paropen_mpi, const char* fname, const char* file_mode, int* nfiles,
              const MPI_Fint* fgcomm, const MPI_Fint* flcomm, sion_int64* chunksizes, int* fsblksize,
              int* globalrank, char*, int* sid, int fname_length, int mode_length, int) {
  sheaf_private_fortran_paropen_mpi(fname, file_mode, nfiles, fgcomm, flcomm, chunksizes, fsblksize,
                                    globalrank, nullptr, sid, fname_length, mode_length, 0);
}
SHEAF_ALIAS(fsion_paropen_multi_mpi_c_, fsion_paropen_mpi_c_);

// Opens a multifile with mapped access. The caller provides arrays with an element for each local task.
SHEAF_ROUTINE(fsion_paropen_mapped_mpi, const char* fname, const char* file_mode, int* nfiles,
              const MPI_Fint* fgcomm, int* nlocaltasks, int* globalranks, sion_int64* chunksizes,
              int* mapping_filenrs, int* mapping_lranks, int* fsblksize, int* sid, int fname_length,
              int mode_length) {
  open(sid, [&] {
    std::string name = text(fname, fname_length);
    return sion_paropen_mapped_mpi(name.data(), text(file_mode, mode_length).c_str(), nfiles,
                                   communicator(*fgcomm), nlocaltasks, &globalranks, &chunksizes,
                                   &mapping_filenrs, &mapping_lranks, fsblksize, nullptr);
  });
}

// Opens a multifile with mapped access for the modules. An empty array may have no address. The C call would
// then allocate an array, so the routine passes the address of a dummy.
SHEAF_FORTRAN void sheaf_private_fortran_paropen_mapped_mpi(
    const char* fname, const char* file_mode, int* nfiles, const MPI_Fint* fgcomm, int* nlocaltasks,
    const Descriptor* globalranks, const Descriptor* chunksizes, const Descriptor* mapping_filenrs,
    const Descriptor* mapping_lranks, int* fsblksize, int* sid, int fname_length, int mode_length) {
  sion_int64 nothing = 0;
  const auto array = [&](const Descriptor* given) { return given->address ? given->address : &nothing; };
  fsion_paropen_mapped_mpi_c_(
      fname, file_mode, nfiles, fgcomm, nlocaltasks, static_cast<int*>(array(globalranks)),
      static_cast<sion_int64*>(array(chunksizes)), static_cast<int*>(array(mapping_filenrs)),
      static_cast<int*>(array(mapping_lranks)), fsblksize, sid, fname_length, mode_length);
}

SHEAF_CALL(parclose_mapped_mpi)

SHEAF_ROUTINE(fsion_parreinit_mpi, const int* sid, const sion_int64* chunksize, int* ierr) {
  *ierr = sion_parreinit_mpi(*sid, *chunksize);
}

SHEAF_CALL(parclose_mpi)

SHEAF_ROUTINE(fsheaf_save_wait_mpi, const sion_int64* save, const int* state, const MPI_Fint* comm,
              int* reached) {
  *reached = sheaf_save_wait_mpi(save_at(save), *state, communicator(*comm));
}
