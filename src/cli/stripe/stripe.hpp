// cli/stripe/stripe: `sheaf stripe`: striped files without a running job. Hosts other than this machine are
// reached through
// --root DIR (SHEAF_SFIO_ROOT), a directory with one directory per host.
#pragma once

#include <CLI/CLI.hpp>

namespace sheaf::cli {

// Adds the subcommand with its own subcommands ls, cat, import, export, check and rm. `status` gets the exit
// code.
void add_stripe(CLI::App& app, int& status);

}  // namespace sheaf::cli
