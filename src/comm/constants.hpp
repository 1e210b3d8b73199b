// comm/constants: numbers of this room that others depend on.
#pragma once

#include <cstddef>

namespace sheaf {

// Numbers that agree() takes along with an outcome.
inline constexpr size_t most_agreed_values = 15;

}  // namespace sheaf
