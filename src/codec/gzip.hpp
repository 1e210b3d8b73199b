// codec/gzip: a buffer as one gzip member (RFC 1952), made and read by zlib.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "codec/libraries.hpp"

#ifdef SHEAF_HAS_ZLIB

namespace sheaf::codec {

// What zlib holds between calls; not for several threads at once. Null if it cannot be had. The library must
// be there (zlib()).
std::shared_ptr<z_stream> make_deflater(int level);
std::shared_ptr<z_stream> make_inflater();

// Returns the bytes written to `out`; 0: it could not be done, as with too little room.
size_t compress_gzip(z_stream& deflater, std::span<const std::byte> data, std::span<std::byte> out);

// Fills all of `out`. False if `data` is not one whole member of that many bytes, whose own checksum and
// length are right.
bool decompress_gzip(z_stream& inflater, std::span<const std::byte> data, std::span<std::byte> out);

}  // namespace sheaf::codec

#endif
