// streams/preload/names/sets: the sets of captured files. A set is opened when one of its names is first
// used. set_at() must be called within an Inside (streams/preload/inside.hpp).
#pragma once

#include <memory>
#include <string_view>

#include "streams/container/container_set.hpp"

namespace sheaf::preload {

// Returns the set at the absolute path `path`. With `view`, returns the content shown in the directory
// `path`; changes of that content fail with EROFS. If the set cannot be opened, prints one message on stderr
// and returns null. The names of such a set remain plain files.
std::shared_ptr<streams::ContainerSet> set_at(std::string_view path, bool view) noexcept;

}  // namespace sheaf::preload
