// codec/gzip: a buffer as one gzip member (RFC 1952), made and read by zlib.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "codec/libraries.hpp"

#ifdef SHEAF_HAS_ZLIB

namespace sheaf::codec {

// `state` is what zlib holds between calls, made by the first one that finds null; not for several threads at
// once, and for calls of one of these functions only. The library must be there (zlib()).
// Returns the bytes written to `out`; 0: it could not be done, as with too little room.
size_t compress_gzip(std::shared_ptr<void>& state, int level, std::span<const std::byte> data,
                     std::span<std::byte> out);

// Fills all of `out`. False if `data` is not one whole member of that many bytes, whose own checksum and
// length are right.
bool decompress_gzip(std::shared_ptr<void>& state, std::span<const std::byte> data, std::span<std::byte> out);

}  // namespace sheaf::codec

#endif
