// gzip: compresses a buffer to one gzip member (RFC 1952) with zlib.
#include <climits>

#include "format/codec/library.hpp"
#include "format/codec/method.hpp"

#ifdef SHEAF_HAS_CODEC
#define ZLIB_CONST
#include <zlib.h>
#endif

namespace sheaf::codec {

#ifdef SHEAF_HAS_CODEC

namespace {

struct Zlib {
  decltype(&deflateInit2_) begin_deflate;
  decltype(&deflateReset) deflate_anew;
  decltype(&::deflate) deflate_on;
  decltype(&deflateEnd) end_deflate;
  decltype(&inflateInit2_) begin_inflate;
  decltype(&inflateReset) inflate_anew;
  decltype(&::inflate) inflate_on;
  decltype(&inflateEnd) end_inflate;
};

const Zlib* zlib(std::string* problem = nullptr) {
  return load<Zlib>("libz.so.1", problem, [](Library& library) {
    return Zlib{.begin_deflate = library["deflateInit2_"],
                .deflate_anew = library["deflateReset"],
                .deflate_on = library["deflate"],
                .end_deflate = library["deflateEnd"],
                .begin_inflate = library["inflateInit2_"],
                .inflate_anew = library["inflateReset"],
                .inflate_on = library["inflate"],
                .end_inflate = library["inflateEnd"]};
  });
}

constexpr int member_window = MAX_WBITS + 16;  // 32 KiB, and zlib's flag for gzip members
constexpr int memory_level = 8;                // zlib's default: 256 KiB for compression
constexpr int stream_size = sizeof(z_stream);

// Returns a stream that is ready for a new buffer, or null if zlib fails. The stream is stored in `state`,
// because zlib keeps the address of its z_stream. If `state` is null, begin() initializes a new stream;
// otherwise the existing stream is reset.
template <class Begin>
z_stream* stream_in(std::shared_ptr<void>& state, Begin begin, int (*anew)(z_streamp),
                    int (*end)(z_streamp)) {
  auto* stream = static_cast<z_stream*>(state.get());
  if (stream) return anew(stream) == Z_OK ? stream : nullptr;
  auto made = std::make_unique<z_stream>();
  if (begin(made.get()) != Z_OK) return nullptr;
  stream = made.get();
  state = std::shared_ptr<z_stream>(made.release(), [end](z_stream* ended) {
    end(ended);
    delete ended;
  });
  return stream;
}

// Sets the input and output of `stream`. Returns false if a size exceeds zlib's counters.
bool point(z_stream& stream, std::span<const std::byte> data, std::span<std::byte> out) {
  if (data.size() > UINT_MAX || out.size() > UINT_MAX) return false;
  stream.next_in = reinterpret_cast<const Bytef*>(data.data());
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  return true;
}

size_t compress_gzip(std::shared_ptr<void>& state, int level, std::span<const std::byte> data,
                     std::span<std::byte> out) {
  const auto begin = [level](z_stream* stream) {
    return zlib()->begin_deflate(stream, level, Z_DEFLATED, member_window, memory_level, Z_DEFAULT_STRATEGY,
                                 ZLIB_VERSION, stream_size);
  };
  z_stream* const stream = stream_in(state, begin, zlib()->deflate_anew, zlib()->end_deflate);
  const bool done =
      stream && point(*stream, data, out) && zlib()->deflate_on(stream, Z_FINISH) == Z_STREAM_END;
  return done ? out.size() - stream->avail_out : 0;
}

// Implements Method::decompress. If it succeeds, zlib has verified the checksum and the length of the member.
bool decompress_gzip(std::shared_ptr<void>& state, std::span<const std::byte> data,
                     std::span<std::byte> out) {
  const auto begin = [](z_stream* stream) {
    return zlib()->begin_inflate(stream, member_window, ZLIB_VERSION, stream_size);
  };
  z_stream* const stream = stream_in(state, begin, zlib()->inflate_anew, zlib()->end_inflate);
  return stream && point(*stream, data, out) && zlib()->inflate_on(stream, Z_FINISH) == Z_STREAM_END &&
         stream->avail_in == 0 && stream->avail_out == 0;
}

}  // namespace

#endif

extern constinit const Method gzip_method = {
    .codec = Codec{3},
    .name = "gzip",
    .min_level = 1,
    .max_level = 9,
#ifdef SHEAF_HAS_CODEC
    .load = [](std::string& problem) { zlib(&problem); },
    .compress = compress_gzip,
    .decompress = decompress_gzip,
#endif
};

}  // namespace sheaf::codec
