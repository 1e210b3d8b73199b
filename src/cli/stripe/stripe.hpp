// cli/stripe/stripe: `sheaf stripe`: striped files without a running job. Hosts other than this machine are
// reached through
// --root DIR (SHEAF_SFIO_ROOT), a directory with one directory per host.
#pragma once

#include "cli/command_line/command_line.hpp"

namespace sheaf::cli {

// Adds the subcommand with its own subcommands ls, cat, import, export, check and rm. `status` gets the exit
// code.
void add_stripe(Command& app, int& status);

}  // namespace sheaf::cli
