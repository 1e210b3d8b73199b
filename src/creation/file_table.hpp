// creation/file_table: which physical file each task writes to, by a table in a text file (open mode
// files=@PATH).
//
// The table has one number for every task, in the order of tasks: that of its physical file, 0 to F-1. Blanks
// and newlines separate numbers; # begins a comment that ends with the line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/comm.hpp"
#include "storage/file.hpp"

namespace sheaf {

struct FilePlace {
  int32_t filenumber = 0;
  int32_t nfiles = 1;
};

// The numbers in `text`. Throws invalid_argument, naming `path` and the line, for anything else than a number
// from 0 to 2^31-2, and if one from 0 to the largest is missing or there are not as many as `ntasks`.
std::vector<int32_t> parse_file_table(const std::string& text, const std::string& path, int64_t ntasks);

// Those of all `ntasks` tasks, as parse_file_table().
std::vector<int32_t> read_whole_file_table(Store& store, const std::string& path, int64_t ntasks);

// Collective; throws on every task alike. Task 0 reads the table, which takes it a few bytes per task.
FilePlace read_file_table(Comm& comm, Store& store, const std::string& path);

}  // namespace sheaf
