// cli/mount/front_place: recognizes an image that is mounted over FUSE (cli/mount/front), for `sheaf umount`
// and sheaf-mount.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "storage/filesystem/mounts.hpp"

namespace sheaf::cli {

// Begin of the name of the image file in the top folder; the process number of the server follows. Mounts are
// recognized by this name alone, because the directory part of the path may be renamed.
inline constexpr std::string_view image_prefix = "/.sheaf.image.";
inline std::string image_of(pid_t server) { return std::string(image_prefix) + std::to_string(server); }

inline bool is_front(const Mount& mount) {
  return mount.type == "erofs" && mount.source.find(image_prefix) != std::string::npos;
}
inline bool is_front_of(const Mount& mount, pid_t server) {
  return is_front(mount) && mount.source.ends_with(image_of(server));
}

}  // namespace sheaf::cli
