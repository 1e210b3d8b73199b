// Reads, writes and byte swaps of data of any type for Fortran. FORTRAN 77 entry points take the address of
// the data and have one name for each type. The modules pass a descriptor. In both cases only size and nitems
// determine the number of bytes.
#include "api/fortran/fsion.hpp"
#include "sion.h"

using namespace sheaf::fortran;

namespace {

// Runs a transfer unless `size` or `nitems` is 0 or negative; the result is 0 then. Sets *rc once, at the
// end, because programs may pass the same variable for the result and for an argument.
template <class Transfer>
void transfer(const sion_int64* size, const sion_int64* nitems, sion_int64* rc, Transfer&& move) {
  const bool moves = *size > 0 && *nitems > 0;
  *rc = moves ? static_cast<sion_int64>(move(static_cast<size_t>(*size), static_cast<size_t>(*nitems))) : 0;
}

}  // namespace

SHEAF_FORTRAN void fsion_write_c_(const void* data, const sion_int64* size, const sion_int64* nitems,
                                  const int* sid, sion_int64* rc) {
  transfer(size, nitems, rc,
           [&](size_t bytes, size_t items) { return sion_fwrite(data, bytes, items, *sid); });
}
SHEAF_F77_TYPED(fsion_write);
SHEAF_ALIAS(fsion_fwrite_c_, fsion_write_c_);
SHEAF_F77_TYPES(fsion_fwrite, fsion_write_c_);

SHEAF_FORTRAN void fsion_read_c_(void* data, const sion_int64* size, const sion_int64* nitems, const int* sid,
                                 sion_int64* rc) {
  transfer(size, nitems, rc,
           [&](size_t bytes, size_t items) { return sion_fread(data, bytes, items, *sid); });
}
SHEAF_F77_TYPED(fsion_read);
SHEAF_ALIAS(fsion_fread_c_, fsion_read_c_);
SHEAF_F77_TYPES(fsion_fread, fsion_read_c_);

// As in the original library, the last argument is never set, because FORTRAN 77 programs may pass any value
// for it.
SHEAF_ROUTINE(fsion_swap, void* target, void* source, const int* size, const int* n, const int* do_swap,
              int*) {
  sion_swap(target, source, *size, *n, *do_swap);
}

SHEAF_FORTRAN void sheaf_fortran_write(const Descriptor* data, const sion_int64* size,
                                       const sion_int64* nitems, const int* sid, sion_int64* rc) {
  fsion_write_c_(data->address, size, nitems, sid, rc);
}

SHEAF_FORTRAN void sheaf_fortran_read(const Descriptor* data, const sion_int64* size,
                                      const sion_int64* nitems, const int* sid, sion_int64* rc) {
  fsion_read_c_(data->address, size, nitems, sid, rc);
}

SHEAF_FORTRAN void sheaf_fortran_swap(const Descriptor* target, const Descriptor* source, const int* size,
                                      const int* n, const int* do_swap, int* rc) {
  sion_swap(target->address, source->address, *size, *n, *do_swap);
  IntegerArgument result(rc);
  *result.value() = SION_SUCCESS;
}
