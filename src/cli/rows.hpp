// cli/rows: lines that say one thing each, LABEL and VALUE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf::cli {

struct Row {
  std::string label;
  std::string value;
};

inline constexpr size_t summary_width = 22;  // columns of the labels of a summary

// Names and sizes as the classic tools show them.
std::string classic_name(std::string_view name);
std::string classic_size(int64_t bytes);

// A line for each row, the values after `width` columns.
std::string text_of(size_t width, const std::vector<Row>& rows);
// Prints these lines.
void print_rows(size_t width, const std::vector<Row>& rows);

}  // namespace sheaf::cli
