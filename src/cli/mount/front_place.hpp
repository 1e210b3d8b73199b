// cli/mount/front_place: how `sheaf umount` and sheaf-mount know what is mounted over FUSE (cli/mount/front).
#pragma once

#include <string>
#include <string_view>

#include "storage/traits/mounts.hpp"

namespace sheaf::cli {

inline constexpr std::string_view image_name = ".sheaf.image";  // in the top folder, for the helper alone

// directory: absolute and without links, where it is mounted.
inline bool is_front(const Mount& mount, const std::string& directory) {
  return mount.type == "erofs" && mount.source == directory + "/" + std::string(image_name);
}

}  // namespace sheaf::cli
