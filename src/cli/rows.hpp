// cli/rows: lines that say one thing each, LABEL and VALUE.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace sheaf::cli {

struct Row {
  std::string label;
  std::string value;
};

inline constexpr size_t summary_width = 22;  // columns of the labels of a summary

// Prints the values behind `width` columns.
void print_rows(size_t width, const std::vector<Row>& rows);

}  // namespace sheaf::cli
