#include "sfio/stripe_name.hpp"

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "base/parse.hpp"

namespace sheaf::sfio {

namespace {

[[noreturn]] void refuse(std::string_view name, const std::string& why) {
  throw Error(Code::invalid_argument, "'" + std::string(name) + "' does not name a striped file: " + why +
                                          "; expected \"host,path;host,path;...\"");
}

int64_t parse_unit(std::string_view name, std::string_view digits) {
  const int64_t unit = parse_number(digits).value_or(0);
  if (unit <= 0) refuse(name, "the stripe unit '" + std::string(digits) + "' is no number of bytes > 0");
  return unit;
}

SubfilePlace parse_place(std::string_view name, std::string_view host, std::string_view path) {
  const SubfilePlace place{std::string(trimmed(host)), std::string(trimmed(path))};
  if (place.host.empty()) refuse(name, "a subfile without a host");
  if (place.path.empty()) refuse(name, "a subfile without a path");
  return place;
}

}  // namespace

StripeName parse_stripe_name(std::string_view name) {
  StripeName parsed;
  parsed.given = name;
  std::string_view rest = name;
  if (is_stripe_path(rest)) rest.remove_prefix(stripe_scheme.size());
  std::string_view suffix;
  while (!rest.empty()) {
    const size_t semicolon = rest.find(';');
    const std::string_view element = trimmed(rest.substr(0, semicolon));
    rest = semicolon == std::string_view::npos ? std::string_view() : rest.substr(semicolon + 1);
    const size_t comma = element.find(',');
    if (comma != std::string_view::npos)
      parsed.subfiles.push_back(parse_place(name, element.substr(0, comma), element.substr(comma + 1)));
    else if (parsed.subfiles.empty() && parsed.unit == 0 && element.starts_with("unit="))
      parsed.unit = parse_unit(name, element.substr(5));
    else if (semicolon != std::string_view::npos && !element.empty())
      refuse(name, "'" + std::string(element) + "' has no comma between host and path");
    else
      suffix = element;
  }
  if (parsed.subfiles.empty()) refuse(name, "there is no subfile");
  if (parsed.subfiles.size() > max_subfiles) refuse(name, "more than 4096 subfiles");
  std::set<std::pair<std::string, std::string>> seen;
  for (SubfilePlace& place : parsed.subfiles) {
    place.path += suffix;
    if (!seen.emplace(place.host, place.path).second)
      refuse(name, "'" + place.host + "," + place.path + "' stands in it twice");
  }
  return parsed;
}

}  // namespace sheaf::sfio
