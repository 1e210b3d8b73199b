// multifile/create/file_table: a text file that assigns a physical file to each task (open mode files=@PATH).
//
// The table has one number per task, in task order: the number of its physical file, 0 to F-1. Blanks and
// newlines separate numbers; # begins a comment that ends with the line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/comm.hpp"
#include "storage/file.hpp"

namespace sheaf::multifile {

struct FilePlace {
  int32_t filenumber = 0;
  int32_t nfiles = 1;
};

// Returns the numbers in `text`. Throws `invalid_argument`, naming `path` and the line, for anything but a
// number from 0 to 2^31-2. Also throws if a number from 0 to the largest is missing, or if there are not
// exactly `ntasks` numbers.
std::vector<int32_t> parse_file_table(const std::string& text, const std::string& path, int64_t ntasks);

// Returns the numbers of all `ntasks` tasks. Throws as parse_file_table().
std::vector<int32_t> read_whole_file_table(Store& store, const std::string& path, int64_t ntasks);

// Returns the place of this task. Collective over `comm`. Task 0 reads the table and needs a few bytes of
// memory per task. Throws on all tasks alike.
FilePlace read_file_table(Comm& comm, Store& store, const std::string& path);

}  // namespace sheaf::multifile
