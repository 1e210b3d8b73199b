#include "codec/libraries.hpp"

#include <dlfcn.h>

namespace sheaf::codec {

namespace {

// A library that stays loaded: streams may be in use until the process ends.
class Library {
 public:
  explicit Library(const char* name) : handle_(dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
    if (!handle_) note(dlerror());
  }

  template <class Function>
  void find(Function& function, const char* symbol) {
    if (!handle_) return;
    function = reinterpret_cast<Function>(dlsym(handle_, symbol));
    if (!function) note(dlerror());
  }

  const std::string& problem() const { return problem_; }

 private:
  void note(const char* text) {
    if (problem_.empty()) problem_ = text ? text : "unknown failure";
  }

  void* handle_;
  std::string problem_;
};

template <class Functions>
struct Loaded {
  Functions functions{};
  std::string problem;
};

template <class Functions>
const Functions* answer(const Loaded<Functions>& loaded, std::string* problem) {
  if (problem) *problem = loaded.problem;
  return loaded.problem.empty() ? &loaded.functions : nullptr;
}

// `name`: null if this build was made without the library. Never freed: see Library.
template <class Functions, class Find>
const Loaded<Functions>* load(const char* name, Find find) {
  auto* const loaded = new Loaded<Functions>;
  if (!name) {
    loaded->problem = "this build of Sheaf was made without it";
    return loaded;
  }
  Library library(name);
  find(library, loaded->functions);
  loaded->problem = library.problem();
  return loaded;
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
  static const auto* const loaded = load<Zstd>(zstd_name, [](Library& library, Zstd& f) {
    library.find(f.create_compressor, "ZSTD_createCCtx");
    library.find(f.free_compressor, "ZSTD_freeCCtx");
    library.find(f.compress, "ZSTD_compressCCtx");
    library.find(f.create_decompressor, "ZSTD_createDCtx");
    library.find(f.free_decompressor, "ZSTD_freeDCtx");
    library.find(f.decompress, "ZSTD_decompressDCtx");
    library.find(f.is_error, "ZSTD_isError");
  });
  return answer(*loaded, problem);
}

const Lz4* lz4(std::string* problem) {
  static const auto* const loaded = load<Lz4>(lz4_name, [](Library& library, Lz4& f) {
    library.find(f.compress, "LZ4_compress_default");
    library.find(f.decompress, "LZ4_decompress_safe");
  });
  return answer(*loaded, problem);
}

const Zlib* zlib(std::string* problem) {
  static const auto* const loaded = load<Zlib>(zlib_name, [](Library& library, Zlib& f) {
    library.find(f.begin_deflate, "deflateInit2_");
    library.find(f.deflate_anew, "deflateReset");
    library.find(f.deflate_on, "deflate");
    library.find(f.end_deflate, "deflateEnd");
    library.find(f.begin_inflate, "inflateInit2_");
    library.find(f.inflate_anew, "inflateReset");
    library.find(f.inflate_on, "inflate");
    library.find(f.end_inflate, "inflateEnd");
  });
  return answer(*loaded, problem);
}

}  // namespace sheaf::codec
