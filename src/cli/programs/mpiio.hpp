// cli/programs/mpiio: `sheaf mpiio -- COMMAND` runs a program with the MPI-IO drop-in. On request, reports
// the actions of the drop-in on each file afterwards.
#pragma once

#include <string>
#include <vector>

namespace sheaf::cli {

struct MpiIoOptions {
  std::vector<std::string> command;  // mpirun and its arguments, or a program
  bool report = false;
  bool json = false;  // format of the report
};

// Runs the command. Without `report`, the command replaces this process. With `report`, returns the command's
// exit code, or 128 + N if signal N ended it.
int mpiio(const MpiIoOptions& options);

}  // namespace sheaf::cli
