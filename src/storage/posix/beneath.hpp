// storage/posix/beneath: a directory as a store of its own, out of which no name leads: Store::beneath().
//
// Its paths begin there, with or without a slash in front: "/a/b" is ROOT/a/b, and File::path() says so.
// Every call refuses with Code::permission what does not stay there: a path with a component "..", and in the
// operating system's store also one that symbolic links lead out of it, be it changed by somebody else
// meanwhile. Links that stay beneath `root` work where the kernel can tell (openat2, Linux 5.6), else all are
// refused. Other calls are those of the store itself.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "storage/file.hpp"

namespace sheaf {

// The path below a root that a name stands for: without slashes in front, "." for none. Throws permission for
// one with "..", invalid_argument for one with NUL, behind which the system would not see the rest.
std::string path_beneath(std::string_view root, std::string_view name);

}  // namespace sheaf
