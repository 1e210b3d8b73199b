// cli/programs/run: `sheaf run`: a program whose files are captured, or that sees multifiles as directories
// (docs/tools/run.md).
#pragma once

#include <string>
#include <vector>

namespace sheaf::cli {

struct RunOptions {
  std::vector<std::string> captures;  // PATTERN:SET
  std::vector<std::string> views;     // FILE:DIR
  bool keep_containers = false;       // do not make multifiles of them at the end
  std::vector<std::string> command;
};

// The exit code of the command.
int run(const RunOptions& options);

}  // namespace sheaf::cli
