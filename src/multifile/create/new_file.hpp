// multifile/create/new_file: creates a physical file: opens it without harm to other files, empties it, and
// chooses the block size of the file system.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "storage/file.hpp"

namespace sheaf {

struct NewFile {
  std::shared_ptr<File> file;
  bool existed = false;  // the file existed before and keeps its contents: nothing is truncated
  // Set if an existing file was set aside: its name, after following links, and its temporary name until the
  // open has succeeded or failed.
  std::string replaced;
  std::string aside;
};

// Treatment of an existing file.
enum class OldFile : uint8_t {
  kept,       // the file is opened
  set_aside,  // the file is renamed to a temporary name and a new file gets its name and attributes, because
              // another program may still write to it; kept if renaming fails
};

// Opens `path` without changing its contents; creates it if it is missing.
//
// path: if the user has given it, symbolic links at `path` are followed. later: the final name when the file
// is complete. It may then replace a private file, so until then only the owner can read it. neighbour: the
// file that the user has given, if the library has derived `path` from it (a further file of a set, a copy);
// else empty.
//
// Throws what the store throws. Throws `foreign` for an existing file with a derived or temporary name
// (format/commit_record), unless it passes open_beside() and is empty or a physical file of a multifile.
NewFile create_file(Store& store, const std::string& path, const std::string& later,
                    const std::string& neighbour, OldFile old = OldFile::kept);

// Removes a file that was set aside. If it is a commit record, also removes the temporary files of its
// generation. Never throws.
void remove_set_aside(Store& store, const std::string& replaced, const std::string& aside);

inline constexpr int64_t largest_block_size = 32 << 20;
inline constexpr int32_t fallback_block_size = 2 << 20;

// Returns the block size in bytes. A `requested` size > 0 is used as it is. Otherwise uses st_blksize from
// fstat of `file`, or 2 MiB if that is not in 1..32 MiB (docs/format.md, section 5.1).
inline int32_t choose_block_size(File& file, int32_t requested) {
  if (requested > 0) return requested;
  const int64_t found = file.status().block_size;
  return found >= 1 && found <= largest_block_size ? static_cast<int32_t>(found) : fallback_block_size;
}

// Drops the contents of the file. If it is a commit record, also removes the temporary files of its
// generation. An empty file is not truncated: ext4 takes a truncation to 0 for a replacement and then writes
// the new contents to the disk at close (docs/tuning.md).
void empty(Store& store, File& file);

}  // namespace sheaf
