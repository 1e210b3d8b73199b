// api/posix/names/sets: the sets that captured files go to, opened when the first of their names is used.
// Inside.
#pragma once

#include <memory>
#include <string_view>

#include "container/container_set.hpp"

namespace sheaf::posix {

// The set of that absolute path; a view: what is shown in that directory, which refuses changes with EROFS.
// Null: it cannot be opened, which is said once on stderr; its files are plain ones then.
std::shared_ptr<ContainerSet> set_at(std::string_view path, bool view) noexcept;

}  // namespace sheaf::posix
