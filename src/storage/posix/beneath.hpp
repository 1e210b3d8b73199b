// storage/posix/beneath: a directory as a separate store that no name can leave: Store::beneath().
//
// Paths start at that directory, with or without a leading slash: "/a/b" is ROOT/a/b, which File::path()
// returns. Calls refuse with Code::permission any path that leaves the directory. A path with a component
// ".." leaves it. In the operating system's store, so does a path with symbolic links that lead out, even if
// another process changes them during the call. Links that stay beneath `root` work where the kernel can
// check them (openat2, Linux 5.6); elsewhere all links are refused. Otherwise the calls are those of the
// store itself.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "storage/file.hpp"

namespace sheaf {

// Returns the path below a root that a name denotes, without leading slashes, "." for none. Throws
// permission for a name with "..", and invalid_argument for one with NUL, at which the system would cut it.
std::string path_beneath(std::string_view root, std::string_view name);

}  // namespace sheaf
