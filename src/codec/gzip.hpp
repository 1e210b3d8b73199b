// codec/gzip: a buffer as one gzip member (RFC 1952), made and read by zlib.
#pragma once

#include <cstddef>
#include <span>

#include "codec/libraries.hpp"

#ifdef SHEAF_HAS_ZLIB

namespace sheaf::codec {

// What zlib holds between calls; not for several threads at once. The library must be there (zlib()).
struct Deflater;
struct Inflater;

// `deflater` and `inflater` are made by the first call that finds null, and go with release().
// Returns the bytes written to `out`; 0: it could not be done, as with too little room.
size_t compress_gzip(Deflater*& deflater, int level, std::span<const std::byte> data,
                     std::span<std::byte> out);

// Fills all of `out`. False if `data` is not one whole member of that many bytes, whose own checksum and
// length are right.
bool decompress_gzip(Inflater*& inflater, std::span<const std::byte> data, std::span<std::byte> out);

void release(Deflater* deflater);
void release(Inflater* inflater);

}  // namespace sheaf::codec

#endif
