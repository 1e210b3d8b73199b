// streams/preload/names/view_set: the content of a mount of multifiles and sets (streams/mount/tree) as a
// read-only set. Changes fail with EROFS, as on a file system mounted read-only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "storage/file.hpp"
#include "streams/container/container_set.hpp"

namespace sheaf::preload {

// Opens the multifiles and sets at `paths` as one set with the path `directory`. Throws if any of `paths`
// cannot be opened.
std::shared_ptr<streams::ContainerSet> open_view(Store& store, const std::string& directory,
                                                 const std::vector<std::string>& paths);

}  // namespace sheaf::preload
