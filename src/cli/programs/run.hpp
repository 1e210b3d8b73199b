// cli/programs/run: `sheaf run` runs a program with captured files, or with multifiles that appear as
// directories (docs/tools/run.md).
#pragma once

#include <string>
#include <vector>

namespace sheaf::cli {

struct RunOptions {
  std::vector<std::string> captures;  // PATTERN:SET
  std::vector<std::string> views;     // FILE:DIR
  bool keep_containers = false;       // do not convert containers to multifiles at the end
  std::vector<std::string> command;
};

// Returns the exit code of the command.
int run(const RunOptions& options);

}  // namespace sheaf::cli
