#include "base/parse.hpp"

#include <charconv>

#include "base/checked.hpp"

namespace sheaf {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blank = " \t\n";
  const size_t first = text.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

std::string_view take_word(std::string_view& list) {
  const size_t comma = list.find(',');
  const std::string_view word = trimmed(list.substr(0, comma));
  list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
  return word;
}

std::string_view whole_words(std::string_view list, size_t max) {
  if (list.size() <= max) return list;
  const size_t blank = list.rfind(' ', max);
  return list.substr(0, blank == std::string_view::npos ? max : blank);
}

std::optional<int64_t> parse_number(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<int64_t> parse_bytes(std::string_view text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  auto bytes = parse_number(text.substr(0, digits));
  std::string_view unit = text.substr(digits);
  if (!bytes || unit.empty()) return bytes;
  const size_t power = std::string_view("kmgt").find(static_cast<char>(unit[0] | 0x20));
  if (power == std::string_view::npos) return std::nullopt;
  unit.remove_prefix(1);
  const bool decimal = unit == "B" || unit == "b";
  if (!decimal && !unit.empty() && unit != "i" && unit != "iB" && unit != "ib") return std::nullopt;
  for (size_t i = 0; i <= power && bytes; ++i) bytes = checked_mul(*bytes, decimal ? 1000 : 1024);
  return bytes;
}

}  // namespace sheaf
