#include "format/codec/library.hpp"
#include "format/codec/method.hpp"

#ifdef SHEAF_HAS_CODEC
#include <zstd.h>
#endif

namespace sheaf::codec {

#ifdef SHEAF_HAS_CODEC

namespace {

struct Zstd {
  decltype(&ZSTD_createCCtx) create_compressor;
  decltype(&ZSTD_freeCCtx) free_compressor;
  decltype(&ZSTD_compressCCtx) compress;
  decltype(&ZSTD_createDCtx) create_decompressor;
  decltype(&ZSTD_freeDCtx) free_decompressor;
  decltype(&ZSTD_decompressDCtx) decompress;
  decltype(&ZSTD_isError) is_error;
};

const Zstd* zstd(std::string* problem = nullptr) {
  return load<Zstd>("libzstd.so.1", problem, [](Library& library) {
    return Zstd{.create_compressor = library["ZSTD_createCCtx"],
                .free_compressor = library["ZSTD_freeCCtx"],
                .compress = library["ZSTD_compressCCtx"],
                .create_decompressor = library["ZSTD_createDCtx"],
                .free_decompressor = library["ZSTD_freeDCtx"],
                .decompress = library["ZSTD_decompressDCtx"],
                .is_error = library["ZSTD_isError"]};
  });
}

size_t compress_zstd(std::shared_ptr<void>& state, int level, std::span<const std::byte> data,
                     std::span<std::byte> out) {
  if (!state) state = std::shared_ptr<ZSTD_CCtx>(zstd()->create_compressor(), zstd()->free_compressor);
  if (!state) return 0;
  const size_t n = zstd()->compress(static_cast<ZSTD_CCtx*>(state.get()), out.data(), out.size(), data.data(),
                                    data.size(), level);
  return zstd()->is_error(n) ? 0 : n;
}

bool decompress_zstd(std::shared_ptr<void>& state, std::span<const std::byte> data,
                     std::span<std::byte> out) {
  if (!state) state = std::shared_ptr<ZSTD_DCtx>(zstd()->create_decompressor(), zstd()->free_decompressor);
  return state && zstd()->decompress(static_cast<ZSTD_DCtx*>(state.get()), out.data(), out.size(),
                                     data.data(), data.size()) == out.size();
}

}  // namespace

#endif

extern constinit const Method zstd_method = {
    .codec = Codec{1},
    .name = "zstd",
    .min_level = -100,
    .max_level = 22,
#ifdef SHEAF_HAS_CODEC
    .load = [](std::string& problem) { zstd(&problem); },
    .compress = compress_zstd,
    .decompress = decompress_zstd,
#endif
};

}  // namespace sheaf::codec
