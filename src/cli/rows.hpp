// cli/rows: prints output lines that consist of a label and a value.
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

inline constexpr size_t summary_width = 22;  // columns for the labels of a summary

// Return names and sizes in the notation of the classic tools.
std::string classic_name(std::string_view name);
std::string classic_size(int64_t bytes);

// Returns one line per row; values start after `width` columns.
std::string text_of(size_t width, const std::vector<Row>& rows);
// Prints the lines of text_of().
void print_rows(size_t width, const std::vector<Row>& rows);

}  // namespace sheaf::cli
