// creation/new_file: how a new physical file begins: opened without harm to anything else, empty, and aligned
// to blocks of the file system.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "storage/store.hpp"

namespace sheaf {

struct NewFile {
  std::shared_ptr<File> file;
  bool existed = false;  // and holds what it did: nothing is truncated
};

enum class Naming : uint8_t {
  given,   // by a user: the file is wherever links lead
  placed,  // by the library, beside a given name: a further file of a set, a copy
};

// Opens `path`, made if missing, with what it holds. Throws what the store throws; and `foreign` for a file
// that the library has placed, as it has those with a temporary name (format/commit_record), unless it is
// empty or a physical file of a multifile, a regular file of one name that no link leads to. `later`: the
// name it will get when it is complete; a file that it replaces then may be private, so nobody else may read
// the new one until then.
NewFile create_file(Store& store, const std::string& path, const std::string& later, Naming naming);

inline constexpr int64_t largest_block_size = 32 << 20;
inline constexpr int32_t fallback_block_size = 2 << 20;

// `requested` > 0: used as it is. Otherwise what fstat says about `file` (st_blksize), or 2 MiB if that is
// not in 1..32 MiB (docs/format.md, section "Block size"). Bytes.
inline int32_t choose_block_size(File& file, int32_t requested) {
  if (requested > 0) return requested;
  const int64_t found = file.status().block_size;
  return found >= 1 && found <= largest_block_size ? static_cast<int32_t>(found) : fallback_block_size;
}

// Drops what the file held before; of a commit record also the temporary files of its generation. A file that
// is empty anyway is left alone: ext4 takes a truncation to 0 for the replacement of a file and writes the
// new contents to the disk when it is closed (docs/tuning.md).
void empty(Store& store, File& file);

}  // namespace sheaf
