// cli/classic/classic: implements sionsplit and siondefrag, with an output line for each step.
#pragma once

#include "cli/commands.hpp"

namespace sheaf::cli {

int classic_split(const SplitOptions& options);
int classic_defrag(const DefragOptions& options, bool verbose);

}  // namespace sheaf::cli
