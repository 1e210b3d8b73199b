#include <nlohmann/json.hpp>

#include "cli/json/json.hpp"

namespace sheaf::cli {

namespace {

using ParsedJson = nlohmann::ordered_json;

Json parsed(const ParsedJson& printed) {
  switch (printed.type()) {
    case ParsedJson::value_t::boolean:
      return printed.get<bool>();
    case ParsedJson::value_t::number_integer:
      return printed.get<int64_t>();
    case ParsedJson::value_t::number_unsigned:
      return printed.get<uint64_t>();
    case ParsedJson::value_t::number_float:
      return printed.get<double>();
    case ParsedJson::value_t::string:
      return printed.get_ref<const std::string&>();
    case ParsedJson::value_t::array: {
      Json made = Json::array();
      for (const ParsedJson& value : printed) made.push_back(parsed(value));
      return made;
    }
    case ParsedJson::value_t::object: {
      Json made = std::initializer_list<Json>{};
      for (const auto& [name, value] : printed.items()) made[name] = parsed(value);
      return made;
    }
    default:
      return {};
  }
}

}  // namespace

Json Json::parse(const std::string& text) { return parsed(ParsedJson::parse(text, nullptr, false)); }

}  // namespace sheaf::cli
