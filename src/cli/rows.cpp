#include "cli/rows.hpp"

#include <fmt/format.h>

#include "base/printable.hpp"

namespace sheaf::cli {

void print_rows(size_t width, const std::vector<Row>& rows) {
  for (const Row& row : rows) fmt::print("{:<{}}{}\n", row.label, width, printable(row.value));
}

}  // namespace sheaf::cli
