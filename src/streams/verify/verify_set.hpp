// streams/verify/verify_set: verifies everything that belongs to a path: a multifile, its containers, or
// containers alone.
#pragma once

#include <optional>
#include <string>

#include "base/export.hpp"
#include "multifile/create/work_progress.hpp"
#include "multifile/tools/verify.hpp"
#include "storage/store.hpp"

namespace sheaf::streams {

// Result of verify_set(); has at least one of the two reports.
struct SHEAF_EXPORT SetReport {
  std::optional<multifile::VerifyReport> multifile;
  std::optional<multifile::FileReport> containers;  // all containers; `ntasks` counts streams
  bool ok() const;
};

// Checks the multifile `path`, if it exists, and its containers. Reports damage as findings, and possible
// remains of a killed program as notes. Without `read_data`, checks the metadata only. Throws only what
// `progress` throws.
SHEAF_EXPORT SetReport verify_set(Store& store, const std::string& path, bool read_data,
                                  multifile::WorkProgress& progress);

}  // namespace sheaf::streams
