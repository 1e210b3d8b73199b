// api/posix/names/sets: the sets of captured files, opened when the first of their names is used. Call
// inside.
#pragma once

#include <memory>
#include <string_view>

#include "container/container_set.hpp"

namespace sheaf::posix {

// Returns the set at that absolute path, or for a view the content shown in that directory, which rejects
// changes with EROFS. Returns null if it cannot be opened, with one message on stderr; its files are plain
// then.
std::shared_ptr<ContainerSet> set_at(std::string_view path, bool view) noexcept;

}  // namespace sheaf::posix
