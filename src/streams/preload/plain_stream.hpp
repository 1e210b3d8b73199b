// streams/preload/plain_stream: a plain file as a stream, for a captured file that became plain. Must be
// called within an Inside (streams/preload/inside.hpp).
#pragma once

#include <memory>

#include "streams/container/container_set.hpp"

namespace sheaf::preload {

// Opens the plain file of `target` as a stream. Throws the errors of opening, and ESTALE if the path now
// names another file.
std::shared_ptr<streams::ContainerStream> open_plain_stream(const streams::StreamTarget& target);

}  // namespace sheaf::preload
