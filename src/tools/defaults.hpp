// tools/defaults: the table of what Sheaf does where it is not told otherwise; printed by `sheaf info`.
#pragma once

#include <string>
#include <vector>

#include "base/export.hpp"

namespace sheaf {

struct Default {
  std::string name;
  std::string value;
  std::string change;  // how to change it; empty: fixed
};

SHEAF_EXPORT std::vector<Default> defaults();

}  // namespace sheaf
