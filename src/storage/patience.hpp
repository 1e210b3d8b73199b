// storage/patience: names on file systems that several hosts share. What one host has just made, or removed and made anew, another
// one may not know for a while: ENOENT, ESTALE, or EEXIST from a call that would not mind.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "storage/store.hpp"

namespace sheaf {

// Opens what is known to be there, because another task has opened it, or may be made by several at once (Access::create): tries again
// while the name is only just not known right, but not longer than `patience`. Throws what Store::open throws last.
std::shared_ptr<File> open_patiently(Store& store, const std::string& path, Access access,
                                     std::chrono::milliseconds patience = std::chrono::seconds(5));

}  // namespace sheaf
