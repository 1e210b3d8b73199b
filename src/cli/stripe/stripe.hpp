// cli/stripe/stripe: `sheaf stripe` lists, copies, checks and removes striped files without a running job. It
// accesses subfiles of other hosts below --root DIR (SHEAF_SFIO_ROOT), a directory with one subdirectory per
// host.
#pragma once

#include "cli/command_line/command_line.hpp"

namespace sheaf::cli {

// Adds the subcommand `stripe` with its subcommands ls, cat, import, export, check and rm. The exit code is
// stored in `status`.
void add_stripe(Command& app, int& status);

}  // namespace sheaf::cli
