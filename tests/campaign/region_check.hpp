// region_check: checks the results of programs that keep ledgers of regions (region_ledger.hpp).
#pragma once

#include <string>

namespace sheaf::test::campaign {

// Reads the ledgers PATH.0, PATH.1, ... of a case and checks the file, its stripes NAME.0, ..., or the files
// NAME.0, ... of the tasks. Throws std::runtime_error with the violation. Returns false if no task has begun.
bool check_regions(const std::string& ledgers, const std::string& name);

}  // namespace sheaf::test::campaign
