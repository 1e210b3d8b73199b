// codec/libraries: the functions of libzstd, liblz4 and libz that Sheaf calls, loaded when they are first
// asked for. Which of them there are, their headers say where this is compiled; SHEAF_NO_COMPRESSION: none.
#pragma once

#if !defined SHEAF_NO_COMPRESSION && __has_include(<zstd.h>)
#include <zstd.h>
#define SHEAF_HAS_ZSTD 1
#endif
#if !defined SHEAF_NO_COMPRESSION && __has_include(<lz4.h>)
#include <lz4.h>
#define SHEAF_HAS_LZ4 1
#endif
#if !defined SHEAF_NO_COMPRESSION && __has_include(<zlib.h>)
#define ZLIB_CONST
#include <zlib.h>
#define SHEAF_HAS_ZLIB 1
#endif

#include <string>

namespace sheaf::codec {

struct Zstd {
#ifdef SHEAF_HAS_ZSTD
  decltype(&ZSTD_createCCtx) create_compressor;
  decltype(&ZSTD_freeCCtx) free_compressor;
  decltype(&ZSTD_compressCCtx) compress;
  decltype(&ZSTD_createDCtx) create_decompressor;
  decltype(&ZSTD_freeDCtx) free_decompressor;
  decltype(&ZSTD_decompressDCtx) decompress;
  decltype(&ZSTD_isError) is_error;
#endif
};

struct Lz4 {
#ifdef SHEAF_HAS_LZ4
  decltype(&LZ4_compress_default) compress;
  decltype(&LZ4_decompress_safe) decompress;
#endif
};

struct Zlib {
#ifdef SHEAF_HAS_ZLIB
  decltype(&deflateInit2_) begin_deflate;
  decltype(&deflateReset) deflate_anew;
  decltype(&::deflate) deflate_on;
  decltype(&deflateEnd) end_deflate;
  decltype(&inflateInit2_) begin_inflate;
  decltype(&inflateReset) inflate_anew;
  decltype(&::inflate) inflate_on;
  decltype(&inflateEnd) end_inflate;
#endif
};

// Null, and why in *problem (if given), when the library cannot be used. Any thread.
const Zstd* zstd(std::string* problem = nullptr);
const Lz4* lz4(std::string* problem = nullptr);
const Zlib* zlib(std::string* problem = nullptr);

}  // namespace sheaf::codec
