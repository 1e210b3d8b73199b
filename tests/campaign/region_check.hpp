// region_check: checks the results of programs that keep ledgers of regions (region_ledger.hpp).
#pragma once

#include <string>

namespace sheaf::test::campaign {

// Reads the ledgers PATH.0, PATH.1, ... of a case, where PATH is `ledgers`. Checks the file `name`, its
// subfiles NAME.0, NAME.1, ..., or the tasks' own files NAME.0, NAME.1, ... Throws std::runtime_error with
// the first violation. Returns false if no task has begun.
bool check_regions(const std::string& ledgers, const std::string& name);

}  // namespace sheaf::test::campaign
