// multifile/saves/retention: the newest of the saves with similar names, and the removal of old ones
// (docs/async.md, "Latest and retention").
#pragma once

#include <cstdint>
#include <string>

#include "base/export.hpp"
#include "storage/file.hpp"

namespace sheaf::saves {

// Returns the newest durable multifile that matches `pattern`; "" if there is none. The last component of the
// pattern may contain `*`, `?` and `[...]`. Throws the errors of reading the directory.
SHEAF_EXPORT std::string latest_save(Store& store, const std::string& pattern);

// Returns the pattern of the series to which `path` belongs: `*` instead of the last digits of the last
// component. Returns "" if that has no digits.
SHEAF_EXPORT std::string series_of(const std::string& path);

// Removes durable multifiles of the series of `path`, which is durable, except the `keep` newest ones. Files
// that a job is writing stay. Throws the errors of reading the directory.
SHEAF_EXPORT void remove_older(Store& store, const std::string& path, int32_t keep);

}  // namespace sheaf::saves
