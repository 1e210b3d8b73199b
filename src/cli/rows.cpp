#include "cli/rows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.hpp"

namespace sheaf::cli {

std::string classic_name(std::string_view name) {
  std::string shown = printable(name);
  shown.resize(std::max<size_t>(shown.size(), 30), ' ');
  return shown;
}

std::string classic_size(int64_t bytes) {
  return fmt::format("{} bytes ({:6.2f} MB)", bytes, static_cast<double>(bytes) / (1 << 20));
}

std::string text_of(size_t width, const std::vector<Row>& rows) {
  std::string text;
  for (const Row& row : rows) text += fmt::format("{:<{}}{}\n", row.label, width, printable(row.value));
  return text;
}

void print_rows(size_t width, const std::vector<Row>& rows) { fmt::print("{}", text_of(width, rows)); }

}  // namespace sheaf::cli
