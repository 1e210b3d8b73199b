// cli/programs/launch: runs programs with a preloaded library of Sheaf.
#pragma once

#include <string>
#include <vector>

namespace sheaf::cli {

// Returns the path of the library `name` in the installation or build tree of this program. If the program
// was copied elsewhere, uses the tree of the core library that it has loaded. Throws `not_found` with
// `reason` if the library does not exist.
std::string own_library(const std::string& name, const std::string& reason);

// Prepends a library to LD_PRELOAD. Throws `invalid_argument` if its path contains characters that LD_PRELOAD
// cannot represent.
void preload(const std::string& library);

// Returns the command. If it is a launcher that forwards only listed environment variables to other hosts,
// adds the options that list `variables`.
std::vector<std::string> with_variables(std::vector<std::string> command,
                                        const std::vector<const char*>& variables);

[[noreturn]] void become(const std::vector<std::string>& command);  // throws if it cannot be run
// Runs the command in place of this process. If this fails, reports the reason and exits with 127, as shells
// do.
[[noreturn]] void become_or_end(const std::vector<std::string>& command);
// Runs the command as a child process and returns its exit code: 128 + N after signal N, 127 if it cannot be
// run. The child handles terminal signals; SIGTERM and SIGHUP are forwarded to it.
int run_command(const std::vector<std::string>& command);

}  // namespace sheaf::cli
