// codec/method: one way to compress a buffer of bytes, as the table of codec.cpp lists them. A file of this
// room for each: its number on disk, its word, its levels, and what it does by the functions of a library.
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
  std::string_view name;  // of the open mode, "zstd"
  int least_level = 0;    // both 0: it has none
  int most_level = 0;

  // The next three are null where Sheaf was built without the library.
  // Loads the library; problem: why that cannot be, untouched otherwise. Any thread.
  void (*load)(std::string& problem) = nullptr;
  // `state` is what the library holds between calls of one of these functions, made by the first one that
  // finds null; not for several threads at once. The library must be there. Returns the bytes written to
  // `out`; 0: it could not be done, as with too little room.
  size_t (*compress)(std::shared_ptr<void>& state, int level, std::span<const std::byte> data,
                     std::span<std::byte> out) = nullptr;
  // Fills all of `out`. False if `data` is no buffer of that many bytes that was compressed so. Writes
  // nowhere else, whatever `data` is.
  bool (*decompress)(std::shared_ptr<void>& state, std::span<const std::byte> data,
                     std::span<std::byte> out) = nullptr;

  bool has_levels() const { return least_level != most_level; }
  // 0 for one that has none.
  bool level_fits(int64_t level) const { return level >= least_level && level <= most_level; }
};

}  // namespace sheaf::codec
