// Fortran forms of calls that the original library offers in C only. The calls return properties of an open
// multifile and its tables as arrays, or create and release duplicates.
#include <algorithm>
#include <cstdint>

#include "api/fortran/fsion.hpp"
#include "sion.h"

using namespace sheaf::fortran;

// The following are functions in Fortran. The FORTRAN 77 entry points return the value. The modules bind to C
// functions that store the value in the last argument.
SHEAF_FORTRAN sion_int64 fsion_bytes_avail_in_chunk_(const int* sid) {
  return sion_bytes_avail_in_chunk(*sid);
}
SHEAF_FORTRAN sion_int64 fsion_get_bytes_written_(const int* sid) { return sion_get_bytes_written(*sid); }
SHEAF_FORTRAN sion_int64 fsion_get_bytes_read_(const int* sid) { return sion_get_bytes_read(*sid); }
SHEAF_FORTRAN void fsion_bytes_avail_in_chunk_c_(const int* sid, sion_int64* bytes) {
  *bytes = sion_bytes_avail_in_chunk(*sid);
}
SHEAF_FORTRAN void fsion_get_bytes_written_c_(const int* sid, sion_int64* bytes) {
  *bytes = sion_get_bytes_written(*sid);
}
SHEAF_FORTRAN void fsion_get_bytes_read_c_(const int* sid, sion_int64* bytes) {
  *bytes = sion_get_bytes_read(*sid);
}

SHEAF_ROUTINE(fsion_get_number_of_files, const int* sid, int* numfiles) {
  *numfiles = sion_get_number_of_files(*sid);
}

// Fills the arrays of a multifile. The first three arrays have ntasks elements, and block_sizes has the shape
// (ntasks, maxblocks). The caller gets ntasks and maxblocks from fsion_get_locations.
SHEAF_ROUTINE(fsion_get_location_arrays, const int* sid, sion_int64* chunksizes, sion_int64* globalranks,
              sion_int64* blockcounts, sion_int64* blocksizes, int* ierr) {
  Locations found;
  *ierr = found.find(*sid);
  if (*ierr != SION_SUCCESS) return;
  const std::pair<const sion_int64*, sion_int64*> columns[] = {
      {found.chunksizes, chunksizes}, {found.globalranks, globalranks}, {found.blockcount, blockcounts}};
  for (const auto& [from, to] : columns)
    if (from) std::copy_n(from, found.ntasks, to);
  if (found.blocksizes)
    std::copy_n(found.blocksizes, int64_t{found.ntasks} * std::max(found.maxblocks, 0), blocksizes);
}

SHEAF_ROUTINE(fsion_dup, const int* sid, const int* mode, const int* rank, const sion_int64* key,
              int* newsid) {
  *newsid = sion_dup(*sid, *mode, *rank, static_cast<uint64_t>(*key));
}

SHEAF_ROUTINE(fsion_dedup, const int* sid, int* ierr) { *ierr = sion_dedup(*sid); }
