// cli/json/value: the representation of a JSON value.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cli/json/json.hpp"

namespace sheaf::cli {

struct Json::Value {
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;

  std::variant<bool, int64_t, uint64_t, double, std::string, Array, Object> held;

  template <class Kind>
  const Kind& as() const {
    const Kind* const found = std::get_if<Kind>(&held);
    if (!found) throw std::logic_error("a JSON value is of another kind");
    return *found;
  }

  static const Value& of(const Json& json) {
    if (!json.value_) throw std::logic_error("a JSON value is null");
    return *json.value_;
  }
  static const Object* object_of(const Json& json) {
    return json.value_ ? std::get_if<Object>(&json.value_->held) : nullptr;
  }
  static bool is_member(const Json& json) {
    const Array* const array = json.value_ ? std::get_if<Array>(&json.value_->held) : nullptr;
    return array && array->size() == 2 && (*array)[0].value_ &&
           std::holds_alternative<std::string>((*array)[0].value_->held);
  }
};

}  // namespace sheaf::cli
