// api/posix/names/view_set: what can be read of a multifile with names, or of a set of containers, as a set
// whose streams cannot be changed: EROFS, as on a file system that is mounted for reading.
#pragma once

#include <memory>
#include <string>

#include "container/container_set.hpp"
#include "storage/store.hpp"

namespace sheaf::posix {

// Throws what NamedStreams::open throws.
std::shared_ptr<ContainerSet> open_view(Store& store, const std::string& path);

}  // namespace sheaf::posix
