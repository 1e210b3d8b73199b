// creation/new_file: how a new physical file begins: opened without harm to anything else, empty, and aligned
// to blocks of the file system.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "storage/file.hpp"

namespace sheaf {

struct NewFile {
  std::shared_ptr<File> file;
  bool existed = false;  // and holds what it did: nothing is truncated
  // Of a file that was set aside: the name that it had (where links lead), and the one that it has until the
  // open has succeeded or failed.
  std::string replaced;
  std::string aside;
};

// What becomes of a file that exists already.
enum class OldFile : uint8_t {
  kept,       // it is opened
  set_aside,  // it gets a temporary name, and a new file its own with its attributes: another program may
              // still have it open to write. Kept where that is impossible
};

// Opens `path`, created if missing, with its contents. `neighbour`: the file that a user has named, if the
// library has derived `path` from it (a further file of a set, a copy); empty: the user has named `path`, and
// symbolic links in its place are followed. Throws what the store throws; and `foreign` for an existing file
// with a derived or temporary name (format/commit_record) unless it passes open_beside() and is empty or a
// physical file of a multifile. `later`: the name it gets when it is complete; it may replace a private file
// then, so until then it is readable only by its owner.
NewFile create_file(Store& store, const std::string& path, const std::string& later,
                    const std::string& neighbour, OldFile old = OldFile::kept);

// Removes a file that was set aside, and the temporary files of the generation that it is the commit record
// of, if it is one. Never throws.
void remove_set_aside(Store& store, const std::string& replaced, const std::string& aside);

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
