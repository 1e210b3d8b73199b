// sfio/check: determines the defects of a striped file from the results of look().
#pragma once

#include <string>
#include <vector>

#include "base/export.hpp"
#include "sfio/striped_file.hpp"

namespace sheaf::sfio {

struct StripeFinding {
  int subfile = 0;
  std::string what;  // one sentence without a final period
};

struct StripeReport {
  int64_t unit = 0;     // stripe unit in bytes; 0: no identity records it
  int64_t size = 0;     // size of the logical file, as far as the subfiles record it
  bool closed = false;  // all subfiles record the same size
  std::vector<StripeFinding> findings;
};

// Returns a report on the file. Throws not_found if no part of the file exists.
SHEAF_EXPORT StripeReport check_striped(const StripeName& name, const std::vector<FoundSubfile>& found);

}  // namespace sheaf::sfio
