// storage/posix/posix_beneath: the operating system's files beneath a directory (storage/posix/beneath.hpp).
#pragma once

#include <memory>
#include <string>

#include "storage/store.hpp"
#include "storage/working_directory.hpp"

namespace sheaf {

// How names are resolved.
enum class Resolving : uint8_t {
  kernel,  // by openat2(2) if available, else by walking
  walk,    // component by component; refuses all symbolic links
};

// Returns the store of the files beneath `root`. A relative `root` is resolved against `base` or, if
// `base` is null, against the current directory at each call.
std::shared_ptr<Store> posix_store_beneath(std::string root, Resolving how = Resolving::kernel,
                                           std::shared_ptr<const WorkingDirectory> base = nullptr);

}  // namespace sheaf
