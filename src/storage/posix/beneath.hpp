// storage/posix/beneath: a directory as a separate store that no name can leave: Store::beneath().
//
// Paths start at that directory, with or without a leading slash: "/a/b" is ROOT/a/b, which File::path()
// returns. Calls refuse with Code::permission any path that leaves the directory. Every path with a component
// ".." counts as leaving. In the operating system's store, so does a path with symbolic links to places
// outside, even if another process changes the links during the call. Links that stay beneath `root` work
// where the kernel can check them (openat2, Linux 5.6); elsewhere all links are refused. Otherwise the calls
// behave like those of the store itself.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "storage/file.hpp"

namespace sheaf {

// Returns `name` as a path relative to `root`, without leading slashes; "." for the root. Throws permission
// if `name` contains a component "..", and invalid_argument if it contains NUL, where the system would cut
// it.
std::string path_beneath(std::string_view root, std::string_view name);

}  // namespace sheaf
