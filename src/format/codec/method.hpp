// format/codec/method: describes a compression method by its number on disk, its name, its levels, and its
// functions, which call a library. Each method has its own file in this folder. codec.cpp lists all methods.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "format/extension.hpp"

namespace sheaf::codec {

using format::Codec;

struct Method {
  Codec codec;            // docs/format.md, section 14.1
  std::string_view name;  // as in the open mode: "zstd"
  int min_level = 0;      // min_level = max_level = 0: no levels
  int max_level = 0;

  // Loads the library. If that fails, sets `problem` to the reason; otherwise leaves it unchanged. Any thread
  // may call it. `load`, `compress` and `decompress` are null if Sheaf was built without the library.
  void (*load)(std::string& problem) = nullptr;
  // Compresses `data` into `out`. Returns the number of bytes written, or 0 on failure, for example if `out`
  // is too small. `state` holds the library's data between calls of the same function; a call with a null
  // `state` creates them. Requires that the library is available. Not thread-safe.
  size_t (*compress)(std::shared_ptr<void>& state, int level, std::span<const std::byte> data,
                     std::span<std::byte> out) = nullptr;
  // Fills all of `out`. Returns false unless `data` is a buffer of out.size() bytes compressed by this
  // method. Never writes beyond `out`, even if `data` is invalid.
  bool (*decompress)(std::shared_ptr<void>& state, std::span<const std::byte> data,
                     std::span<std::byte> out) = nullptr;

  bool has_levels() const { return min_level != max_level; }
  // Returns whether `level` is valid; 0 is the only valid level of a method without levels.
  bool level_fits(int64_t level) const { return level >= min_level && level <= max_level; }
};

}  // namespace sheaf::codec
