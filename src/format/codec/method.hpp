// format/codec/method: a compression method, as listed in the table of codec.cpp. Each method has its own
// file in this folder: its number on disk, name and levels, and its functions on top of a library.
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
  int min_level = 0;      // least = most = 0: no levels
  int max_level = 0;

  // Loads the library. Sets `problem` to the reason on failure, and leaves it unchanged otherwise. Any
  // thread. This function and the next two are null if Sheaf was built without the library.
  void (*load)(std::string& problem) = nullptr;
  // `state` holds the library's data between calls of the same function. A call with a null `state` creates
  // it. Not thread-safe. The library must be available. Returns the number of bytes written to `out`; 0 on
  // failure, for example if `out` is too small.
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
