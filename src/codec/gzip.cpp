#include "codec/gzip.hpp"

#ifdef SHEAF_HAS_ZLIB

#include <climits>
#include <memory>

namespace sheaf::codec {

namespace {

constexpr int member_window = MAX_WBITS + 16;  // 32 KiB, and zlib's mark for gzip members
constexpr int memory_level = 8;                // zlib's own choice: 256 KiB to compress
constexpr int stream_size = sizeof(z_stream);

// False if zlib cannot count so many bytes.
bool point(z_stream& stream, std::span<const std::byte> data, std::span<std::byte> out) {
  if (data.size() > UINT_MAX || out.size() > UINT_MAX) return false;
  stream.next_in = reinterpret_cast<const Bytef*>(data.data());
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  return true;
}

}  // namespace

// zlib keeps the address of its z_stream.
struct Deflater {
  z_stream stream{};
};
struct Inflater {
  z_stream stream{};
};

size_t compress_gzip(Deflater*& deflater, int level, std::span<const std::byte> data,
                     std::span<std::byte> out) {
  if (!deflater) {
    auto made = std::make_unique<Deflater>();
    if (zlib()->begin_deflate(&made->stream, level, Z_DEFLATED, member_window, memory_level,
                              Z_DEFAULT_STRATEGY, ZLIB_VERSION, stream_size) != Z_OK)
      return 0;
    deflater = made.release();
  } else if (zlib()->deflate_anew(&deflater->stream) != Z_OK) {
    return 0;
  }
  z_stream& stream = deflater->stream;
  if (!point(stream, data, out) || zlib()->deflate_on(&stream, Z_FINISH) != Z_STREAM_END) return 0;
  return out.size() - stream.avail_out;
}

bool decompress_gzip(Inflater*& inflater, std::span<const std::byte> data, std::span<std::byte> out) {
  if (!inflater) {
    auto made = std::make_unique<Inflater>();
    if (zlib()->begin_inflate(&made->stream, member_window, ZLIB_VERSION, stream_size) != Z_OK) return false;
    inflater = made.release();
  } else if (zlib()->inflate_anew(&inflater->stream) != Z_OK) {
    return false;
  }
  z_stream& stream = inflater->stream;
  return point(stream, data, out) && zlib()->inflate_on(&stream, Z_FINISH) == Z_STREAM_END &&
         stream.avail_in == 0 && stream.avail_out == 0;
}

void release(Deflater* deflater) {
  if (deflater) zlib()->end_deflate(&deflater->stream);
  delete deflater;
}

void release(Inflater* inflater) {
  if (inflater) zlib()->end_inflate(&inflater->stream);
  delete inflater;
}

}  // namespace sheaf::codec

#endif
