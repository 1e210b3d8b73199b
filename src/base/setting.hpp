// base/setting: reads values from the environment.
//
// Unrecognized values are ignored with one warning (base/warnings). In a parallel program one task reads the
// environment and broadcasts the values, so only that task warns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/export.hpp"

namespace sheaf {

// Returns the name of `variable` in the environment. The tools flavour adds a prefix
// (cmake/ToolsFlavour.cmake), so that settings for a program do not affect the tracing library in it.
std::string environment_name(std::string_view variable);

// Returns the value of `variable`; null if it is unset or empty. Valid until the program changes its
// environment.
SHEAF_EXPORT const char* setting(const char* variable);

// Returns the value of `variable`, a number from `least` to `most`. Returns nullopt if the variable is unset.
// If its value is not such a number, adds a warning and returns nullopt.
SHEAF_EXPORT std::optional<int64_t> number_setting(const char* variable, int64_t least = INT64_MIN,
                                                   int64_t most = INT64_MAX);

// Like number_setting(), but without the warning, for variables that every task reads.
SHEAF_EXPORT std::optional<int64_t> quiet_number_setting(const char* variable, int64_t least = INT64_MIN,
                                                         int64_t most = INT64_MAX);

// Adds a warning that `value` of the variable or hint `name` is ignored, once per process for each pair.
// `expected` describes the valid values.
SHEAF_EXPORT void tell_not_understood(std::string_view name, std::string_view value,
                                      std::string_view expected);
// Likewise for a value that is valid but has no effect. `reason` tells why.
SHEAF_EXPORT void tell_without_effect(std::string_view name, std::string_view value, std::string_view reason);

}  // namespace sheaf
