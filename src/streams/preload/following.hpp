// streams/preload/following: open files with a stream that a process renames out of its set, which may happen
// at any time. They continue on the resulting file with the same offset and flags.
#pragma once

#include <memory>

#include "streams/container/container_set.hpp"

namespace sheaf::posix {

// Returns a stream that forwards to `stream` while that is in its set. After a rename it forwards to the
// plain file, or the stream of another set, under the new name. If the new name no longer exists (renamed
// again or removed), calls fail with ESTALE. Must be called within an Inside (streams/preload/inside.hpp).
// Returns null for null.
std::shared_ptr<ContainerStream> following(std::shared_ptr<ContainerStream> stream);

}  // namespace sheaf::posix
