#include <nlohmann/json.hpp>
#include <type_traits>

#include "cli/json/value.hpp"

namespace sheaf::cli {

namespace {

using Printed = nlohmann::ordered_json;

}  // namespace

struct Json::Printer {
  static Printed printed(const Json& json) {
    if (json.is_null()) return {};
    return std::visit(
        []<class Kind>(const Kind& held) {
          Printed made;
          if constexpr (std::is_same_v<Kind, Value::Array>) {
            made = Printed::array();
            for (const Json& value : held) made.push_back(printed(value));
          } else if constexpr (std::is_same_v<Kind, Value::Object>) {
            made = Printed::object();
            for (const auto& [name, value] : held) made[name] = printed(value);
          } else {
            made = held;
          }
          return made;
        },
        json.value_->held);
  }
};

std::string text_of(const Json& json, int indent) {
  return Json::Printer::printed(json).dump(indent, ' ', false, Printed::error_handler_t::replace);
}

}  // namespace sheaf::cli
