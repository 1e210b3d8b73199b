// storage/posix/beneath: a directory as a store of its own, out of which no name leads.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "storage/store.hpp"

namespace sheaf {

// A store of what is beneath the directory `root`. Its paths begin there, with or without a slash in front:
// "/a/b" is ROOT/a/b, and File::path() says so. Every call refuses with Code::permission what does not stay
// there: a path with a component "..", and in the operating system's store also one that symbolic links lead
// out of it, be it changed by somebody else meanwhile. Links that stay beneath `root` work where the kernel
// can tell (openat2, Linux 5.6), else all are refused. Other calls are those of `inner`, which outlives the
// result.
std::shared_ptr<Store> store_beneath(Store& inner, std::string root);

// Implemented by stores that have links, and need more than a look at the name.
class ConfiningStore {
 public:
  virtual std::shared_ptr<Store> beneath(std::string root) = 0;

 protected:
  ~ConfiningStore() = default;
};

// The path below a root that a name stands for: without slashes in front, "." for none. Throws permission for
// one with "..", invalid_argument for one with NUL, behind which the system would not see the rest.
std::string path_beneath(std::string_view root, std::string_view name);

}  // namespace sheaf
