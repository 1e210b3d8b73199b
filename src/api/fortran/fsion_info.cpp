// Fortran forms of calls that the original library offers in C only. The calls return properties of an open
// multifile and its tables as arrays, or create and release duplicates.
#include <algorithm>
#include <cstdint>

#include "api/fortran/fsion.hpp"
#include "sion.h"

using namespace sheaf::fortran;

SHEAF_FUNCTION(bytes_avail_in_chunk)
SHEAF_FUNCTION(get_bytes_written)
SHEAF_FUNCTION(get_bytes_read)

SHEAF_CALL(get_number_of_files)

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

SHEAF_CALL(dedup)
