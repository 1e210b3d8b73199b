// multifile/create/new_file: creates or opens a physical file without harm to foreign files, empties it, and
// chooses its block size.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "storage/file.hpp"

namespace sheaf::multifile {

struct NewFile {
  std::shared_ptr<File> file;
  bool existed = false;  // the file existed before and keeps its contents: nothing is truncated
  // Empty unless an existing file was set aside. `replaced` is its name after following links. `aside` is its
  // temporary name until the open has succeeded or failed.
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
// `neighbour` is empty if the user has given `path`; then symbolic links at `path` are followed. If the
// library has derived `path` (a further file of a set, a copy), `neighbour` is the file that the user has
// given. `later` is the final name of the file when it is complete. If `later` differs from `path`, only the
// owner can read the file until then, because it may replace a private file.
//
// Throws what the store throws. Throws `foreign` if a file with a derived or temporary name
// (format/commit_record) exists, unless open_beside() accepts it and it is empty or a physical file of a
// multifile.
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

// Truncates the file to 0 bytes. If it is a commit record, also removes the temporary files of its
// generation. Does not truncate an empty file: ext4 takes a truncation to 0 for a replacement and then writes
// the new contents to the disk at close (docs/tuning.md).
void empty(Store& store, File& file);

}  // namespace sheaf::multifile
