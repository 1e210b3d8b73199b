// storage/traits/mounts: what /proc/self/mountinfo says of the place of a file: which type of file system is
// mounted there, from where, with which options. For storage/traits/traits; everybody else asks for traits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.hpp"

namespace sheaf {

// The value of `name` in a list NAME[=VALUE] SEPARATOR..., empty for one without; the last one counts.
// Nothing if it is not in the list.
std::optional<std::string_view> value_in(std::string_view list, char separator, std::string_view name);

// What is in a small file; nothing where it cannot be read.
std::string contents_of(const std::string& path);

struct Mount {
  int64_t id = 0;       // of the mount, in this namespace
  std::string device;   // of the file system, "8:1"
  std::string point;    // where it is mounted, absolute
  std::string type;     // "ext4", "nfs4", "fuse.sshfs"
  std::string source;   // "server:/export", "/dev/sda1"
  std::string options;  // of the mount and of the file system, with commas between them

  // Whether the word `name` is one of the options, alone or with a value.
  bool has(std::string_view name) const { return option(name).has_value(); }
  std::optional<std::string> option(std::string_view name) const {
    return std::optional<std::string>(value_in(options, ',', name));
  }
};

// The lines of a mountinfo (proc(5)), in their order; lines that are none are left out. Blanks and
// backslashes in names, which the kernel writes as octal numbers, are what they were.
std::vector<Mount> parse_mounts(std::string_view mountinfo);

// What is mounted where the absolute path is: the longest mount point that is the path or a directory above
// it; of several mounted on one point, the last. Null if there is none.
const Mount* mount_at(const std::vector<Mount>& mounts, std::string_view path);

// What is mounted on exactly this directory, absolute and without links; of several, the last. Asks /proc
// alone, never what is mounted: that may hang, or have lost its server.
SHEAF_EXPORT std::optional<Mount> mounted_on(const std::string& directory);

// The mount in which this process finds the open file (O_PATH will do), for which it reads /proc. Nothing
// where there is no /proc, or the mount cannot be told from here.
std::optional<Mount> mount_of_descriptor(int fd);

// The same for a path that exists.
SHEAF_EXPORT std::optional<Mount> mount_of(const std::string& path);

}  // namespace sheaf
