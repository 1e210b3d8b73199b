// streams/preload/names/sets: the sets of captured files, opened when the first of their names is used. Must
// be called within an Inside (streams/preload/inside.hpp).
#pragma once

#include <memory>
#include <string_view>

#include "streams/container/container_set.hpp"

namespace sheaf::posix {

// Returns the set at that absolute path, or for a view the content shown in that directory, which rejects
// changes with EROFS. Returns null if it cannot be opened, with one message on stderr; its files are plain
// then.
std::shared_ptr<ContainerSet> set_at(std::string_view path, bool view) noexcept;

}  // namespace sheaf::posix
