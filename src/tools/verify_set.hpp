// tools/verify_set: verify() for whatever has a name: a multifile, containers beside it, or containers alone.
#pragma once

#include <optional>
#include <string>

#include "base/export.hpp"
#include "creation/work_progress.hpp"
#include "storage/store.hpp"
#include "tools/verify.hpp"

namespace sheaf {

// At least one of the two is there.
struct SHEAF_EXPORT SetReport {
  std::optional<VerifyReport> multifile;
  std::optional<FileReport> containers;  // of all of them; `ntasks` counts streams
  bool ok() const;
};

// Checks the multifile `path` if there is one, and its containers: what is damaged is a finding, what a
// killed program may have left is a note. `read_data` false: metadata only. Throws only what `progress`
// throws.
SHEAF_EXPORT SetReport verify_set(Store& store, const std::string& path, bool read_data,
                                  WorkProgress& progress);

}  // namespace sheaf
