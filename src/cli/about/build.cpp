// SHEAF_BUILD, SHEAF_MPIS and SHEAF_FEATURES are defined in cmake/Features.cmake.
#include "cli/about/build.hpp"

#include "format/codec/codec.hpp"

namespace sheaf::cli {

namespace {

std::string or_none(std::string_view words) { return words.empty() ? "none" : std::string(words); }

}  // namespace

Build this_build() { return {SHEAF_BUILD, SHEAF_MPIS, SHEAF_FEATURES}; }

std::vector<Row> rows_of_build() {
  const Build build = this_build();
  std::string codecs;
  std::vector<Row> missing;
  for (const codec::Method* method : codec::methods()) {
    if (!method->load) continue;
    codecs.append(codecs.empty() ? "" : " ").append(method->name);
    if (const std::string problem = codec::problem_with(method->codec); !problem.empty())
      missing.push_back({"", problem});
  }
  std::vector<Row> rows = {{"build", std::string(build.compiler)},
                           {"MPI", or_none(build.mpis)},
                           {"features", or_none(build.features)},
                           {"compression", or_none(codecs)}};
  rows.insert(rows.end(), missing.begin(), missing.end());
  return rows;
}

}  // namespace sheaf::cli
