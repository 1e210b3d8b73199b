// codec: one buffer of bytes compressed or restored, by zstd, lz4 or zlib (gzip).
//
// The libraries are loaded when they are first needed: programs that link Sheaf statically, with link lines
// that know nothing of codecs, need none for files that are not compressed, and are told what is missing
// otherwise. Sizes in bytes.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "base/export.hpp"
#include "base/non_copyable.hpp"
#include "format/extension.hpp"

namespace sheaf::codec {

using format::Codec;

// Throws unsupported, naming `path`, if the library of the codec was not there when Sheaf was built, or is
// not here now.
void require(Codec codec, std::string_view path);

SHEAF_EXPORT std::string_view name_of(Codec codec);  // "none", "zstd", "lz4", "gzip"
inline bool has_levels(Codec codec) { return codec == Codec::zstd || codec == Codec::gzip; }
// 0 for one that has none.
inline bool level_fits(Codec codec, int level) {
  if (codec == Codec::zstd) return level >= -100 && level <= 22;
  if (codec == Codec::gzip) return level >= 1 && level <= 9;
  return level == 0;
}
inline constexpr int default_level = 1;  // of one that has some

// Most bytes that compressing `bytes` bytes can give: more than any of the libraries promises.
constexpr size_t bound(Codec codec, size_t bytes) {
  return codec == Codec::none ? bytes : bytes + bytes / 128 + 1024;
}

// Not for several threads at once. The codec must be there (require()).
class Compressor : private NonCopyable {
 public:
  Compressor(Codec codec, int level) : codec_(codec), level_(level) {}

  // Returns the bytes written to `out`, which holds bound(data.size()); 0: it could not be done.
  size_t compress(std::span<const std::byte> data, std::span<std::byte> out);

 private:
  Codec codec_;
  int level_;
  std::shared_ptr<void> context_;  // of the library, which frees it
};

// Not for several threads at once.
class Decompressor : private NonCopyable {
 public:
  // Fills all of `out`. False if `data` is no buffer of that many bytes compressed by `codec`, which must be
  // there. Writes nowhere else, whatever `data` is.
  bool decompress(Codec codec, std::span<const std::byte> data, std::span<std::byte> out);

 private:
  std::shared_ptr<void> zstd_, gzip_;  // as above
};

}  // namespace sheaf::codec
