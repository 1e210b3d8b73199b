// streams/preload/following: keeps an open file usable after its stream was renamed to a name outside the
// set. Any process may rename the stream at any time. The open file then continues on the renamed file, with
// the same offset and flags.
#pragma once

#include <memory>

#include "streams/container/container_set.hpp"

namespace sheaf::preload {

// Returns a stream that forwards all calls to `stream` until a process renames `stream` out of its set. From
// then on, calls go to the plain file, or to the stream of another set, that the rename has created. Calls
// fail with ESTALE if that file was renamed again or removed. Returns null if `stream` is null. Must be
// called within an Inside (streams/preload/inside.hpp).
std::shared_ptr<streams::ContainerStream> following(std::shared_ptr<streams::ContainerStream> stream);

}  // namespace sheaf::preload
