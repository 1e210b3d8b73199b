// cli/about/build: what this build of Sheaf consists of.
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

// The build in lines. Loads the libraries of codecs; one that cannot be loaded adds a line that says why.
std::vector<Row> rows_of_build();

}  // namespace sheaf::cli
