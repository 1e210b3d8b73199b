// process/process_identity: who a process is, so that another one can tell whether it still runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace sheaf {

struct ProcessIdentity {
  std::string
      boot;  // which start of which machine, and which of its process spaces (containers); empty: not known
  int64_t pid = 0;
  uint64_t started = 0;  // clock ticks from the start of the machine to that of the process, by which a new
                         // process of the same number is told from it; 0: not known

  bool operator==(const ProcessIdentity&) const = default;
};

// This process. Never throws; what cannot be found out stays empty.
ProcessIdentity this_process();

// The number alone: 0 in no process, another one in a forked child.
int64_t process_number();

// Whether that process runs, where this machine can tell: no, if it has ended, though nobody has asked for
// its exit code yet. Nothing if it belongs to another machine, or may.
std::optional<bool> runs_here(const ProcessIdentity& process);

}  // namespace sheaf
