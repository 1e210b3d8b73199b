#include "base/setting.hpp"

#include <cstdlib>
#include <mutex>
#include <set>
#include <string>

#include "base/parse.hpp"
#include "base/warnings.hpp"

namespace sheaf {

#ifndef SHEAF_ENVIRONMENT_PREFIX
#define SHEAF_ENVIRONMENT_PREFIX ""
#endif

std::string environment_name(std::string_view variable) {
  return std::string(SHEAF_ENVIRONMENT_PREFIX).append(variable);
}

const char* setting(const char* variable) {
  const char* const set = std::getenv(environment_name(variable).c_str());
  return set && *set ? set : nullptr;
}

std::optional<int64_t> quiet_number_setting(const char* variable, int64_t least, int64_t most) {
  const char* const set = setting(variable);
  const auto number = set ? parse_number(trimmed(set)) : std::nullopt;
  return number && *number >= least && *number <= most ? number : std::nullopt;
}

std::optional<int64_t> number_setting(const char* variable, int64_t least, int64_t most) {
  const char* const set = setting(variable);
  const auto number = quiet_number_setting(variable, least, most);
  if (number || !set) return number;
  std::string expected = "a number";
  if (least > INT64_MIN) expected += " from " + std::to_string(least) + " on";
  if (most < INT64_MAX) expected += " up to " + std::to_string(most);
  tell_not_understood(environment_name(variable), set, expected);
  return std::nullopt;
}

namespace {

// Adds a warning that begins with `name='value'`, once per process for each pair.
void tell_once(std::string_view name, std::string_view value, std::string_view words) {
  static std::mutex mutex;
  static auto* const told = new std::set<std::string>;  // never destroyed: used until the process ends
  std::string what(name);
  what.append("='").append(value).append("'");
  {
    const std::scoped_lock lock(mutex);
    if (!told->insert(what).second) return;
  }
  add_warning(what.append(words));
}

}  // namespace

void tell_not_understood(std::string_view name, std::string_view value, std::string_view expected) {
  tell_once(name, value, std::string(" is not understood, and ignored; expected ").append(expected));
}

void tell_without_effect(std::string_view name, std::string_view value, std::string_view reason) {
  tell_once(name, value, std::string(" has no effect: ").append(reason));
}

}  // namespace sheaf
