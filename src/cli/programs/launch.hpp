// cli/programs/launch: running a program with a library of ours before its own.
#pragma once

#include <string>
#include <vector>

namespace sheaf::cli {

// The path of a library of the installation or build that this program, or its core library if the program is
// a copy elsewhere, is of; throws not_found, with `reason`.
std::string own_library(const std::string& name, const std::string& reason);

// Puts a library before those that LD_PRELOAD names; throws invalid_argument if its path cannot stand there.
void preload(const std::string& library);

// The command as it hands on these variables to other hosts, where it is a launcher that must be told.
std::vector<std::string> with_variables(std::vector<std::string> command,
                                        const std::vector<const char*>& variables);

[[noreturn]] void become(const std::vector<std::string>& command);  // throws if it cannot be run
// Says why if it cannot be run, and ends this process with 127, as shells do.
[[noreturn]] void become_or_end(const std::vector<std::string>& command);
// Runs it, leaves signals of the terminal to it, and passes on SIGTERM and SIGHUP. Its exit code; 128 + N for
// signal N, 127 if it cannot be run.
int run_command(const std::vector<std::string>& command);

}  // namespace sheaf::cli
