// Key-value records for Fortran. Keys have 64 bits, which Fortran treats as a signed number.
#include "api/fortran/fsion.hpp"
#include "sion.h"

using namespace sheaf::fortran;

namespace {

// Runs a transfer and returns its result. Returns 0 without a transfer if `size` or `nitems` is negative. A
// count of 0 items is valid and denotes an empty record.
template <class Transfer>
sion_int64 transfer(sion_int64 size, sion_int64 nitems, Transfer&& move) {
  if (size < 0 || nitems < 0) return 0;
  return static_cast<sion_int64>(move(static_cast<size_t>(size), static_cast<size_t>(nitems)));
}

uint64_t key_of(const sion_int64* key) { return static_cast<uint64_t>(*key); }

}  // namespace

SHEAF_ROUTINE(fsion_fwrite_key, const void* data, const sion_int64* key, const sion_int64* size,
              const sion_int64* nitems, const int* sid, sion_int64* rc) {
  *rc = transfer(*size, *nitems, [&](size_t bytes, size_t items) {
    return sion_fwrite_key(data, key_of(key), bytes, items, *sid);
  });
}

SHEAF_ROUTINE(fsion_fread_key, void* data, const sion_int64* key, const sion_int64* size,
              const sion_int64* nitems, const int* sid, sion_int64* rc) {
  *rc = transfer(*size, *nitems, [&](size_t bytes, size_t items) {
    return sion_fread_key(data, key_of(key), bytes, items, *sid);
  });
}

SHEAF_FORTRAN void sheaf_fortran_write_key(const Descriptor* data, const sion_int64* key,
                                           const sion_int64* size, const sion_int64* nitems, const int* sid,
                                           sion_int64* rc) {
  fsion_fwrite_key_c_(data->address, key, size, nitems, sid, rc);
}

SHEAF_FORTRAN void sheaf_fortran_read_key(const Descriptor* data, const sion_int64* key,
                                          const sion_int64* size, const sion_int64* nitems, const int* sid,
                                          sion_int64* rc) {
  fsion_fread_key_c_(data->address, key, size, nitems, sid, rc);
}

SHEAF_ROUTINE(fsion_seek_key, const int* sid, const sion_int64* key, const int* entrynum,
              const sion_int64* posinentry, int* ierr) {
  *ierr = sion_seek_key(*sid, key_of(key), *entrynum, *posinentry);
}

SHEAF_CALL(fread_key_iterator_reset)

SHEAF_ROUTINE(fsion_fread_key_iterator_next, const int* sid, sion_int64* key, sion_int64* size, int* ierr) {
  uint64_t found = 0;
  size_t bytes = 0;
  *ierr = sion_fread_key_iterator_next(*sid, &found, &bytes);
  if (*ierr != SION_SUCCESS) return;
  *key = static_cast<sion_int64>(found);
  *size = static_cast<sion_int64>(bytes);
}

SHEAF_CALL(key_full_scan)

SHEAF_CALL(key_list_iterator_reset)

SHEAF_ROUTINE(fsion_key_list_iterator_next, const int* sid, sion_int64* key, int* ierr) {
  uint64_t found = 0;
  *ierr = sion_key_list_iterator_next(*sid, &found);
  *key = static_cast<sion_int64>(found);
}

SHEAF_ROUTINE(fsion_key_get_stat, const int* sid, const sion_int64* key, sion_int64* num_blocks,
              sion_int64* total_size, int* ierr) {
  sion_key_stat_t stat{};
  *ierr = sion_key_get_stat(*sid, key_of(key), &stat);
  *num_blocks = stat.num_blocks;
  *total_size = stat.total_size;
}

SHEAF_CALL(get_keyval_mode)
