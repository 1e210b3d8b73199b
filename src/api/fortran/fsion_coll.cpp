// Collective reads and writes for Fortran. If a count is 0 or negative, the task takes part in the call
// without data, because all tasks must make the call.
#include <algorithm>

#include "api/fortran/fsion.hpp"
#include "sion.h"

using namespace sheaf::fortran;

namespace {

size_t count(sion_int64 n) { return static_cast<size_t>(std::max<sion_int64>(n, 0)); }

}  // namespace

SHEAF_FORTRAN void fsion_coll_fwrite_mpi_c_(const void* data, const sion_int64* size,
                                            const sion_int64* nitems, const int* sid, sion_int64* rc) {
  *rc = static_cast<sion_int64>(sion_coll_fwrite(data, count(*size), count(*nitems), *sid));
}
SHEAF_F77_TYPED(fsion_coll_fwrite_mpi);

SHEAF_FORTRAN void fsion_coll_fread_mpi_c_(void* data, const sion_int64* size, const sion_int64* nitems,
                                           const int* sid, sion_int64* rc) {
  *rc = static_cast<sion_int64>(sion_coll_fread(data, count(*size), count(*nitems), *sid));
}
SHEAF_F77_TYPED(fsion_coll_fread_mpi);

SHEAF_FORTRAN void sheaf_fortran_coll_write(const Descriptor* data, const sion_int64* size,
                                            const sion_int64* nitems, const int* sid, sion_int64* rc) {
  fsion_coll_fwrite_mpi_c_(data->address, size, nitems, sid, rc);
}

SHEAF_FORTRAN void sheaf_fortran_coll_read(const Descriptor* data, const sion_int64* size,
                                           const sion_int64* nitems, const int* sid, sion_int64* rc) {
  fsion_coll_fread_mpi_c_(data->address, size, nitems, sid, rc);
}
