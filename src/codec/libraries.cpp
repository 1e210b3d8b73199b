#include "codec/libraries.hpp"

#include <dlfcn.h>

namespace sheaf::codec {

namespace {

// A library that stays loaded: streams may be in use until the process ends.
class Library {
 public:
  // `name`: null if this build was made without it.
  explicit Library(const char* name) : handle_(name ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : nullptr) {
    if (!handle_) note(name ? dlerror() : "this build of Sheaf was made without it");
  }

  // A function of whatever type it is assigned to.
  struct Symbol {
    void* address;
    template <class Function>
    operator Function*() const {
      return reinterpret_cast<Function*>(address);
    }
  };
  Symbol operator[](const char* symbol) {
    void* const address = handle_ ? dlsym(handle_, symbol) : nullptr;
    if (handle_ && !address) note(dlerror());
    return {address};
  }

  const std::string& problem() const { return problem_; }

 private:
  void note(const char* text) {
    if (problem_.empty()) problem_ = text ? text : "unknown failure";
  }

  void* handle_;
  std::string problem_;
};

// The functions that find(library) gives; null, and why in *problem (if given), if they are not all there.
// Never freed: see Library.
template <class Functions, class Find>
const Functions* load(const char* name, std::string* problem, Find find) {
  static Library& library = *new Library(name);
  static const Functions functions = find(library);
  if (problem) *problem = library.problem();
  return library.problem().empty() ? &functions : nullptr;
}

#ifdef SHEAF_HAS_ZSTD
constexpr const char* zstd_name = "libzstd.so.1";
#else
constexpr const char* zstd_name = nullptr;
#endif
#ifdef SHEAF_HAS_LZ4
constexpr const char* lz4_name = "liblz4.so.1";
#else
constexpr const char* lz4_name = nullptr;
#endif
#ifdef SHEAF_HAS_ZLIB
constexpr const char* zlib_name = "libz.so.1";
#else
constexpr const char* zlib_name = nullptr;
#endif

}  // namespace

const Zstd* zstd(std::string* problem) {
  return load<Zstd>(zstd_name, problem, [](Library& library) {
    return Zstd{.create_compressor = library["ZSTD_createCCtx"],
                .free_compressor = library["ZSTD_freeCCtx"],
                .compress = library["ZSTD_compressCCtx"],
                .create_decompressor = library["ZSTD_createDCtx"],
                .free_decompressor = library["ZSTD_freeDCtx"],
                .decompress = library["ZSTD_decompressDCtx"],
                .is_error = library["ZSTD_isError"]};
  });
}

const Lz4* lz4(std::string* problem) {
  return load<Lz4>(lz4_name, problem, [](Library& library) {
    return Lz4{.compress = library["LZ4_compress_default"], .decompress = library["LZ4_decompress_safe"]};
  });
}

const Zlib* zlib(std::string* problem) {
  return load<Zlib>(zlib_name, problem, [](Library& library) {
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

}  // namespace sheaf::codec
