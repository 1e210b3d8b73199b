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

std::shared_ptr<z_stream> make_deflater(int level) {
  auto stream = std::make_unique<z_stream>();
  if (zlib()->begin_deflate(stream.get(), level, Z_DEFLATED, member_window, memory_level, Z_DEFAULT_STRATEGY,
                            ZLIB_VERSION, stream_size) != Z_OK)
    return nullptr;
  return {stream.release(), [](z_stream* made) {
            zlib()->end_deflate(made);
            delete made;
          }};
}

std::shared_ptr<z_stream> make_inflater() {
  auto stream = std::make_unique<z_stream>();
  if (zlib()->begin_inflate(stream.get(), member_window, ZLIB_VERSION, stream_size) != Z_OK) return nullptr;
  return {stream.release(), [](z_stream* made) {
            zlib()->end_inflate(made);
            delete made;
          }};
}

size_t compress_gzip(z_stream& deflater, std::span<const std::byte> data, std::span<std::byte> out) {
  const bool done = zlib()->deflate_anew(&deflater) == Z_OK && point(deflater, data, out) &&
                    zlib()->deflate_on(&deflater, Z_FINISH) == Z_STREAM_END;
  return done ? out.size() - deflater.avail_out : 0;
}

bool decompress_gzip(z_stream& inflater, std::span<const std::byte> data, std::span<std::byte> out) {
  return zlib()->inflate_anew(&inflater) == Z_OK && point(inflater, data, out) &&
         zlib()->inflate_on(&inflater, Z_FINISH) == Z_STREAM_END && inflater.avail_in == 0 &&
         inflater.avail_out == 0;
}

}  // namespace sheaf::codec

#endif
