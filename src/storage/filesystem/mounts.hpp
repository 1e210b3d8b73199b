// storage/filesystem/mounts: reads /proc/self/mountinfo: the type of file system mounted at a file's place,
// its source and its options. Used by storage/filesystem/traits; modules that need properties of a file
// system use traits instead.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.hpp"

namespace sheaf {

// Returns the value of `name` in a list NAME[=VALUE] SEPARATOR..., empty for a name without value. The last
// occurrence counts. Returns nothing if the list does not contain `name`.
std::optional<std::string_view> value_in(std::string_view list, char separator, std::string_view name);

// Returns the contents of a small file; empty if it cannot be read.
std::string contents_of(const std::string& path);

struct Mount {
  int64_t id = 0;       // mount number in this namespace
  std::string device;   // device of the file system, "8:1"
  std::string point;    // mount point, absolute
  std::string type;     // "ext4", "nfs4", "fuse.sshfs"
  std::string source;   // "server:/export", "/dev/sda1"
  std::string options;  // options of the mount and the file system, separated by commas

  // Returns true if `name` is one of the options, with or without a value.
  bool has(std::string_view name) const { return option(name).has_value(); }
  std::optional<std::string> option(std::string_view name) const {
    return std::optional<std::string>(value_in(options, ',', name));
  }
};

// Parses a mountinfo (proc(5)), in its order; skips invalid lines. Decodes the octal escapes of blanks and
// backslashes in names.
std::vector<Mount> parse_mounts(std::string_view mountinfo);

// Returns the mount that contains an absolute path: the mount with the longest mount point that is the path
// or a directory above it. Of several mounts on one point, returns the last. Returns null if no mount
// contains the path.
const Mount* mount_at(const std::vector<Mount>& mounts, std::string_view path);

// Returns what is mounted on exactly this directory, absolute and without links; of several mounts, the last.
// Reads /proc only and never touches the mounted file system, which may hang or have lost its server.
SHEAF_EXPORT std::optional<Mount> mounted_on(const std::string& directory);

// Returns the mount through which this process reaches an open file (also O_PATH); reads /proc. Returns
// nothing without /proc, or if the mount is not visible from here.
std::optional<Mount> mount_of_descriptor(int fd);

// Returns the mount through which this process reaches an existing path, as mount_of_descriptor() does.
SHEAF_EXPORT std::optional<Mount> mount_of(const std::string& path);

}  // namespace sheaf
