// codec: one buffer of bytes compressed or restored, by one of the methods there are (codec/method).
//
// The libraries are loaded when they are first needed: programs that link Sheaf statically, with link lines
// that know nothing of codecs, need none for files that are not compressed, and are told what is missing
// otherwise. Sizes in bytes.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/export.hpp"
#include "base/non_copyable.hpp"
#include "codec/method.hpp"

namespace sheaf::codec {

// All there are, in the order of their numbers.
SHEAF_EXPORT std::span<const Method* const> methods();
// Null: there is none; Codec::none is no method.
const Method* find(Codec codec);
const Method* find(std::string_view name);

// Why data of the codec cannot be used: nobody here knows it, or its library was not there when Sheaf was
// built, or is not here now. Empty: they can.
SHEAF_EXPORT std::string problem_with(Codec codec);
// Throws unsupported, naming `path`, if nobody here knows the codec; the library may be missing.
void require_known(Codec codec, std::string_view path);
// Throws unsupported, naming `path`, if data of the codec cannot be used.
void require(Codec codec, std::string_view path);

// "none", that of the method, or "unknown".
SHEAF_EXPORT std::string_view name_of(Codec codec);
inline constexpr int default_level = 1;  // of one that has some

// Most bytes that compressing `bytes` bytes can give: more than any of the libraries promises.
constexpr size_t bound(Codec codec, size_t bytes) {
  return codec == Codec::none ? bytes : bytes + bytes / 128 + 1024;
}

// Not for several threads at once. The codec must be there (require()).
class Compressor : private NonCopyable {
 public:
  Compressor(Codec codec, int level) : method_(find(codec)), level_(level) {}

  // Returns the bytes written to `out`, which holds bound(data.size()); 0: it could not be done.
  size_t compress(std::span<const std::byte> data, std::span<std::byte> out);

 private:
  const Method* method_;
  int level_;
  std::shared_ptr<void> state_;  // of the library, which frees it
};

// Not for several threads at once.
class Decompressor : private NonCopyable {
 public:
  // Fills all of `out`. False if `data` is no buffer of that many bytes compressed by `codec`, which must be
  // there. Writes nowhere else, whatever `data` is.
  bool decompress(Codec codec, std::span<const std::byte> data, std::span<std::byte> out);

 private:
  const Method* method_ = nullptr;
  std::shared_ptr<void> state_;  // as above, of that method
};

}  // namespace sheaf::codec
