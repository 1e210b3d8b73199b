// api/posix/names/view_set: what a mount of multifiles and sets shows (mount/tree), as a set whose streams
// cannot be changed: EROFS, as on a file system that is mounted for reading.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "container/container_set.hpp"
#include "storage/file.hpp"

namespace sheaf::posix {

// `directory`: what the set is called. Throws what opening throws.
std::shared_ptr<ContainerSet> open_view(Store& store, const std::string& directory,
                                        const std::vector<std::string>& paths);

}  // namespace sheaf::posix
