// cli/classic/classic: sionsplit and siondefrag, which print each step.
#pragma once

#include "cli/commands.hpp"

namespace sheaf::cli {

int classic_split(const SplitOptions& options);
int classic_defrag(const DefragOptions& options, bool verbose);

}  // namespace sheaf::cli
