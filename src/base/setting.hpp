// base/setting: what the environment says.
//
// What is not understood there is ignored, and told once (base/warnings). Of a parallel program one task
// reads the environment and tells the others, so one task tells it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/export.hpp"

namespace sheaf {

// Its name in the environment: the tools flavour has a beginning of its own (cmake/ToolsFlavour.cmake), so
// that what is set for a program does not concern the tracing library in it.
std::string environment_name(std::string_view variable);

// Null if the variable is not set, or empty. Lives until the program changes its environment.
SHEAF_EXPORT const char* setting(const char* variable);

// A number from `least` to `most`. Nothing if the variable is not set, or, which is told, says something
// else.
SHEAF_EXPORT std::optional<int64_t> number_setting(const char* variable, int64_t least = INT64_MIN,
                                                   int64_t most = INT64_MAX);

// The same without telling, for what every task asks.
SHEAF_EXPORT std::optional<int64_t> quiet_number_setting(const char* variable, int64_t least = INT64_MIN,
                                                         int64_t most = INT64_MAX);

// Leaves a warning that `value` of `name`, a variable or a hint, is ignored; once in the process for the two
// of them. `expected`: what is understood.
SHEAF_EXPORT void tell_not_understood(std::string_view name, std::string_view value,
                                      std::string_view expected);

}  // namespace sheaf
