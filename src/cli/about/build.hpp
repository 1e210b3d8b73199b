// cli/about/build: describes this build of Sheaf.
#pragma once

#include <string_view>
#include <vector>

#include "cli/rows.hpp"

namespace sheaf::cli {

struct Build {
  std::string_view compiler;  // build type, compiler and processor
  std::string_view mpis;      // names, separated by blanks
  std::string_view features;  // optional parts, separated by blanks, as `sionconfig --features` prints them
};
Build this_build();

// Returns the description of the build as rows. Loads the compression libraries, and adds a row with the
// reason for each library that cannot be loaded.
std::vector<Row> rows_of_build();

}  // namespace sheaf::cli
