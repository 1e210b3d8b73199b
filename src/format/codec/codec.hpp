// codec: compresses or decompresses one buffer of bytes with one of the available methods
// (format/codec/method).
//
// The libraries are loaded on first use. A program that links Sheaf statically without compression libraries
// can process uncompressed files. For other files, an error names the missing library. Sizes are in bytes.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/export.hpp"
#include "base/non_copyable.hpp"
#include "format/codec/method.hpp"

namespace sheaf::codec {

// Returns all methods in the order of their numbers.
SHEAF_EXPORT std::span<const Method* const> methods();
// Return the method with the given codec or name, or null if no method has it. Codec::none is not a method.
const Method* find(Codec codec);
const Method* find(std::string_view name);

// Returns why data of the codec cannot be processed, or an empty string if they can. Either this version does
// not know the codec, or its library was missing at build time, or it is missing now.
SHEAF_EXPORT std::string problem_with(Codec codec);
// Throws `unsupported`, naming `path`, if this version does not know the codec. Does not check its library.
void require_known(Codec codec, std::string_view path);
// Throws `unsupported`, naming `path`, if data of the codec cannot be processed.
void require(Codec codec, std::string_view path);

// Returns the name of the method, "none" for Codec::none, or "unknown".
SHEAF_EXPORT std::string_view name_of(Codec codec);
inline constexpr int default_level = 1;  // for methods with levels

// Returns an upper bound of the size of `bytes` bytes after compression. It exceeds the bounds that the
// libraries state.
constexpr size_t bound(Codec codec, size_t bytes) {
  return codec == Codec::none ? bytes : bytes + bytes / 128 + 1024;
}

// Compresses buffers with one codec, which must be usable (require()). Not thread-safe.
class Compressor : private NonCopyable {
 public:
  Compressor(Codec codec, int level) : method_(find(codec)), level_(level) {}

  // Writes the compressed `data` to `out`, which must have at least bound(data.size()) bytes. Returns the
  // number of bytes written, 0 on failure.
  size_t compress(std::span<const std::byte> data, std::span<std::byte> out);

 private:
  const Method* method_;
  int level_;
  std::shared_ptr<void> state_;  // data of the library, freed by it
};

// Decompresses buffers of any codec. Not thread-safe.
class Decompressor : private NonCopyable {
 public:
  // Fills all of `out`. Returns false unless `data` is a buffer of out.size() bytes compressed by `codec`,
  // which must be usable. Never writes beyond `out`, even if `data` is invalid.
  bool decompress(Codec codec, std::span<const std::byte> data, std::span<std::byte> out);

 private:
  const Method* method_ = nullptr;
  std::shared_ptr<void> state_;  // data of the library of `method_`, freed by it
};

}  // namespace sheaf::codec
