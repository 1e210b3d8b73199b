#include <climits>

#include "format/codec/library.hpp"
#include "format/codec/method.hpp"

#ifdef SHEAF_HAS_CODEC
#include <lz4.h>
#endif

namespace sheaf::codec {

#ifdef SHEAF_HAS_CODEC

namespace {

struct Lz4 {
  decltype(&LZ4_compress_default) compress;
  decltype(&LZ4_decompress_safe) decompress;
};

const Lz4* lz4(std::string* problem = nullptr) {
  return load<Lz4>("liblz4.so.1", problem, [](Library& library) {
    return Lz4{.compress = library["LZ4_compress_default"], .decompress = library["LZ4_decompress_safe"]};
  });
}

const char* chars(std::span<const std::byte> data) { return reinterpret_cast<const char*>(data.data()); }
char* chars(std::span<std::byte> out) { return reinterpret_cast<char*>(out.data()); }

size_t compress_lz4(std::shared_ptr<void>&, int, std::span<const std::byte> data, std::span<std::byte> out) {
  if (data.size() > LZ4_MAX_INPUT_SIZE || out.size() > INT_MAX) return 0;
  const int n =
      lz4()->compress(chars(data), chars(out), static_cast<int>(data.size()), static_cast<int>(out.size()));
  return n > 0 ? static_cast<size_t>(n) : 0;
}

bool decompress_lz4(std::shared_ptr<void>&, std::span<const std::byte> data, std::span<std::byte> out) {
  if (data.size() > INT_MAX || out.size() > INT_MAX) return false;
  const auto size = static_cast<int>(out.size());
  return lz4()->decompress(chars(data), chars(out), static_cast<int>(data.size()), size) == size;
}

}  // namespace

#endif

extern constinit const Method lz4_method = {
    .codec = Codec{2},
    .name = "lz4",
#ifdef SHEAF_HAS_CODEC
    .load = [](std::string& problem) { lz4(&problem); },
    .compress = compress_lz4,
    .decompress = decompress_lz4,
#endif
};

}  // namespace sheaf::codec
