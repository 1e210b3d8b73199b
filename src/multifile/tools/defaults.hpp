// multifile/tools/defaults: the table of default settings, printed by `sheaf info`.
#pragma once

#include <string>
#include <vector>

#include "base/export.hpp"

namespace sheaf::multifile {

struct Default {
  std::string name;
  std::string value;
  std::string change;  // how to change the setting; empty: fixed
};

// Returns all settings in the order of the table.
SHEAF_EXPORT std::vector<Default> defaults();

}  // namespace sheaf::multifile
