// The MPI calls for Fortran; compiled for every MPI, because only the MPI knows what its Fortran handles stand for.
// The modules and FORTRAN 77 programs are the same for all of them.
#include <mpi.h>

#include <cstdlib>
#include <cstring>

#include "api/fortran/fsion.hpp"
#include "sion.h"

using namespace sheaf::fortran;

namespace {

// newfname may be null; else it gets the name of the physical file, cut or filled with blanks to newfname_length.
void paropen(const char* fname, const char* file_mode, int* nfiles, MPI_Fint fgcomm, MPI_Fint flcomm,
             sion_int64* chunksize, int* fsblksize, int* globalrank, char* newfname, int* sid, int fname_length,
             int mode_length, int newfname_length) {
  open(sid, [&] {
    int initialized = 0;
    MPI_Initialized(&initialized);
    const MPI_Comm global = initialized ? MPI_Comm_f2c(fgcomm) : MPI_COMM_NULL;
    const MPI_Comm local = initialized ? MPI_Comm_f2c(flcomm) : MPI_COMM_NULL;
    const std::string name = text(fname, fname_length);
    const std::string mode = text(file_mode, mode_length);
    char* physical = nullptr;
    const int opened = sion_paropen_mpi(name.c_str(), mode.c_str(), nfiles, global, &local, chunksize, fsblksize,
                                        globalrank, nullptr, newfname ? &physical : nullptr);
    if (opened >= 0 && physical) {
      const auto room = static_cast<size_t>(newfname_length);
      std::memset(newfname, ' ', room);
      std::memcpy(newfname, physical, std::min(std::strlen(physical), room));
    }
    std::free(physical);
    return opened;
  });
}

}  // namespace

// Leaves newfname alone, as in the original: FORTRAN 77 programs may pass a constant.
SHEAF_FORTRAN void fsion_paropen_mpi_c_(const char* fname, const char* file_mode, int* nfiles, const MPI_Fint* fgcomm,
                                        const MPI_Fint* flcomm, sion_int64* chunksizes, int* fsblksize,
                                        int* globalrank, char*, int* sid, int fname_length, int mode_length, int) {
  paropen(fname, file_mode, nfiles, *fgcomm, *flcomm, chunksizes, fsblksize, globalrank, nullptr, sid, fname_length,
          mode_length, 0);
}
SHEAF_F77(fsion_paropen_mpi);
SHEAF_ALIAS(fsion_paropen_multi_mpi_c_, fsion_paropen_mpi_c_);

SHEAF_FORTRAN void sheaf_fortran_paropen_mpi(const char* fname, const char* file_mode, int* nfiles,
                                             const MPI_Fint* fgcomm, const MPI_Fint* flcomm, sion_int64* chunksize,
                                             int* fsblksize, int* globalrank, char* newfname, int* sid,
                                             int fname_length, int mode_length, int newfname_length) {
  paropen(fname, file_mode, nfiles, *fgcomm, *flcomm, chunksize, fsblksize, globalrank, newfname, sid, fname_length,
          mode_length, newfname_length);
}

SHEAF_FORTRAN void fsion_parclose_mpi_c_(const int* sid, int* ierr) { *ierr = sion_parclose_mpi(*sid); }
SHEAF_F77(fsion_parclose_mpi);
