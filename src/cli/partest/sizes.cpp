#include "cli/partest/sizes.hpp"

#include <fmt/format.h>

#include <charconv>

namespace sheaf::partest {

std::optional<int64_t> parse_size(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  if (unit.empty()) return number;
  constexpr std::string_view letters = "kmgt";
  const size_t power = letters.find(static_cast<char>(unit[0] | 0x20));
  if (power == std::string_view::npos) return std::nullopt;
  unit.remove_prefix(1);
  int64_t base;
  if (unit.empty() || unit == "i" || unit == "ib" || unit == "iB") {
    base = 1024;
  } else if (unit == "b" || unit == "B") {
    base = 1000;
  } else {
    return std::nullopt;
  }
  for (size_t i = 0; i <= power; ++i)
    if (__builtin_mul_overflow(number, base, &number)) return std::nullopt;
  return number;
}

std::string sized(int64_t bytes) {
  constexpr const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
  return unit == 0 ? fmt::format("{} bytes", bytes) : fmt::format("{:.1f} {}", value, units[unit]);
}

}  // namespace sheaf::partest
