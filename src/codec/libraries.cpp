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

[[maybe_unused]] const char* const not_built = "this build of Sheaf was made without it";

}  // namespace

const Zstd* zstd(std::string* problem) {
  static const auto* const loaded = [] {
    auto* l = new Loaded<Zstd>;
#ifdef SHEAF_HAS_ZSTD
    Library library("libzstd.so.1");
    Zstd& f = l->functions;
    library.find(f.create_compressor, "ZSTD_createCCtx");
    library.find(f.free_compressor, "ZSTD_freeCCtx");
    library.find(f.compress, "ZSTD_compressCCtx");
    library.find(f.create_decompressor, "ZSTD_createDCtx");
    library.find(f.free_decompressor, "ZSTD_freeDCtx");
    library.find(f.decompress, "ZSTD_decompressDCtx");
    library.find(f.is_error, "ZSTD_isError");
    l->problem = library.problem();
#else
    l->problem = not_built;
#endif
    return l;
  }();
  return answer(*loaded, problem);
}

const Lz4* lz4(std::string* problem) {
  static const auto* const loaded = [] {
    auto* l = new Loaded<Lz4>;
#ifdef SHEAF_HAS_LZ4
    Library library("liblz4.so.1");
    library.find(l->functions.compress, "LZ4_compress_default");
    library.find(l->functions.decompress, "LZ4_decompress_safe");
    l->problem = library.problem();
#else
    l->problem = not_built;
#endif
    return l;
  }();
  return answer(*loaded, problem);
}

const Zlib* zlib(std::string* problem) {
  static const auto* const loaded = [] {
    auto* l = new Loaded<Zlib>;
#ifdef SHEAF_HAS_ZLIB
    Library library("libz.so.1");
    Zlib& f = l->functions;
    library.find(f.begin_deflate, "deflateInit2_");
    library.find(f.deflate_anew, "deflateReset");
    library.find(f.deflate_on, "deflate");
    library.find(f.end_deflate, "deflateEnd");
    library.find(f.begin_inflate, "inflateInit2_");
    library.find(f.inflate_anew, "inflateReset");
    library.find(f.inflate_on, "inflate");
    library.find(f.end_inflate, "inflateEnd");
    l->problem = library.problem();
#else
    l->problem = not_built;
#endif
    return l;
  }();
  return answer(*loaded, problem);
}

}  // namespace sheaf::codec
