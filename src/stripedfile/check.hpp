// stripedfile/check: everything that is wrong with a striped file, from what look() finds.
#pragma once

#include <string>
#include <vector>

#include "base/export.hpp"
#include "stripedfile/striped_file.hpp"

namespace sheaf::sfio {

struct StripeFinding {
  int subfile = 0;
  std::string what;  // one sentence without a final stop
};

struct StripeReport {
  int64_t unit = 0;     // 0: no identity tells
  int64_t size = 0;     // of the logical file, as far as its subfiles tell
  bool closed = false;  // all subfiles say the same size
  std::vector<StripeFinding> findings;
};

// Throws not_found if there is nothing of the file at all.
SHEAF_EXPORT StripeReport check_striped(const StripeName& name, const std::vector<FoundSubfile>& found);

}  // namespace sheaf::sfio
