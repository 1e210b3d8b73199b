// cli/json: the one way JSON is printed. File names need not be UTF-8; bytes that are not become U+FFFD.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace sheaf::cli {

using Json = nlohmann::ordered_json;

template <class AnyJson = Json>
std::string text_of(const AnyJson& json, int indent = -1) {
  return json.dump(indent, ' ', false, AnyJson::error_handler_t::replace);
}

}  // namespace sheaf::cli
