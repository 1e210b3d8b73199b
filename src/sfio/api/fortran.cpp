// Additional functions for the Fortran module: communicators as integers.
#include "base/export.hpp"
#include "sfio/api/exported.hpp"

extern "C" SHEAF_EXPORT int sheaf_private_sfio_start(MPI_Fint all, const char* how, MPI_Fint* compute);
extern "C" SHEAF_EXPORT MPI_Fint sheaf_private_sfio_comm(void);

int sheaf_private_sfio_start(MPI_Fint all, const char* how, MPI_Fint* compute) {
  MPI_Comm found = MPI_COMM_NULL;
  const int result = sfio_start(MPI_Comm_f2c(all), how, &found);
  *compute = MPI_Comm_c2f(found);
  return result;
}

MPI_Fint sheaf_private_sfio_comm(void) { return MPI_Comm_c2f(sfio_comm()); }
