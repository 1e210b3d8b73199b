// cli/programs/mpiio: `sheaf mpiio -- COMMAND`: runs programs with the MPI-IO drop-in, and says afterwards
// what it did for which file.
#pragma once

#include <string>
#include <vector>

namespace sheaf::cli {

struct MpiIoOptions {
  std::vector<std::string> command;  // mpirun and its arguments, or a program
  bool report = false;
  bool json = false;  // the report
};

// Does not return without a report: the command takes the place of this process. With one, the exit code of
// the command, 128 and the signal if one ended it.
int mpiio(const MpiIoOptions& options);

}  // namespace sheaf::cli
