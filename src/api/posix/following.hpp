// api/posix/following: open files whose stream somebody renames out of its set, as every process may at any
// time. They go on in the file that it has become, with the offset and the flags they have.
#pragma once

#include <memory>

#include "container/container_set.hpp"

namespace sheaf::posix {

// A stream that is `stream` as long as that is in its set, then the plain file, or the stream of another set,
// under the new name. If that is there no more (somebody has renamed it again, or removed it), calls fail
// with ESTALE. Inside; null stays null.
std::shared_ptr<ContainerStream> following(std::shared_ptr<ContainerStream> stream);

}  // namespace sheaf::posix
