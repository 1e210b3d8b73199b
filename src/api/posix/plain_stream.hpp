// api/posix/plain_stream: a plain file as a stream, for what was captured and has become one. Inside.
#pragma once

#include <memory>

#include "container/container_set.hpp"

namespace sheaf::posix {

// Throws what opening it throws; ESTALE if the file of that path is another one now.
std::shared_ptr<ContainerStream> open_plain_stream(const StreamTarget& target);

}  // namespace sheaf::posix
