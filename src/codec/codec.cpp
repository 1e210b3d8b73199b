#include "codec/codec.hpp"

#include <cstdint>
#include <iterator>
#include <string>

#include "base/error.hpp"
#include "codec/gzip.hpp"
#include "codec/libraries.hpp"

namespace sheaf::codec {

void require(Codec codec, std::string_view path) {
  std::string problem;
  if (codec == Codec::zstd) zstd(&problem);
  if (codec == Codec::lz4) lz4(&problem);
  if (codec == Codec::gzip) zlib(&problem);
  if (!problem.empty())
    throw file_error(
        Code::unsupported, path,
        "is compressed with " + std::string(name_of(codec)) + ", which cannot be used: " + problem);
}

std::string_view name_of(Codec codec) {
  static constexpr std::string_view names[] = {"none", "zstd", "lz4", "gzip"};
  static_assert(std::size(names) == static_cast<size_t>(format::last_codec) + 1);
  return codec <= format::last_codec ? names[static_cast<size_t>(codec)] : names[0];
}

size_t Compressor::compress([[maybe_unused]] std::span<const std::byte> data,
                            [[maybe_unused]] std::span<std::byte> out) {
#ifdef SHEAF_HAS_ZSTD
  if (codec_ == Codec::zstd) {
    if (!context_)
      context_ = std::shared_ptr<ZSTD_CCtx>(zstd()->create_compressor(), zstd()->free_compressor);
    if (!context_) return 0;
    const size_t n = zstd()->compress(static_cast<ZSTD_CCtx*>(context_.get()), out.data(), out.size(),
                                      data.data(), data.size(), level_);
    return zstd()->is_error(n) ? 0 : n;
  }
#endif
#ifdef SHEAF_HAS_LZ4
  if (codec_ == Codec::lz4) {
    if (data.size() > LZ4_MAX_INPUT_SIZE || out.size() > INT32_MAX) return 0;
    const int n =
        lz4()->compress(reinterpret_cast<const char*>(data.data()), reinterpret_cast<char*>(out.data()),
                        static_cast<int>(data.size()), static_cast<int>(out.size()));
    return n > 0 ? static_cast<size_t>(n) : 0;
  }
#endif
#ifdef SHEAF_HAS_ZLIB
  if (codec_ == Codec::gzip) return compress_gzip(context_, level_, data, out);
#endif
  return 0;
}

bool Decompressor::decompress([[maybe_unused]] Codec codec, [[maybe_unused]] std::span<const std::byte> data,
                              [[maybe_unused]] std::span<std::byte> out) {
#ifdef SHEAF_HAS_ZSTD
  if (codec == Codec::zstd) {
    if (!zstd_) zstd_ = std::shared_ptr<ZSTD_DCtx>(zstd()->create_decompressor(), zstd()->free_decompressor);
    return zstd_ && zstd()->decompress(static_cast<ZSTD_DCtx*>(zstd_.get()), out.data(), out.size(),
                                       data.data(), data.size()) == out.size();
  }
#endif
#ifdef SHEAF_HAS_LZ4
  if (codec == Codec::lz4) {
    if (data.size() > INT32_MAX || out.size() > INT32_MAX) return false;
    return lz4()->decompress(reinterpret_cast<const char*>(data.data()), reinterpret_cast<char*>(out.data()),
                             static_cast<int>(data.size()),
                             static_cast<int>(out.size())) == static_cast<int>(out.size());
  }
#endif
#ifdef SHEAF_HAS_ZLIB
  if (codec == Codec::gzip) return decompress_gzip(gzip_, data, out);
#endif
  return false;
}

}  // namespace sheaf::codec
