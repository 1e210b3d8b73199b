// base/os/process_identity: identifies a process, so that other processes can determine whether it still
// runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace sheaf {

struct ProcessIdentity {
  std::string boot;  // IDs of the host's boot and of the PID namespace (container); empty: unknown
  int64_t pid = 0;
  uint64_t started = 0;  // clock ticks from boot to the start of the process, which distinguish it from a
                         // later process with the same number; 0: unknown

  bool operator==(const ProcessIdentity&) const = default;
};

// Identifies this process. Never throws; members that cannot be determined stay empty.
ProcessIdentity this_process();

// Returns the PID of this process, which is > 0. A forked child has a different one.
int64_t process_number();

// Returns the effective user ID of this process.
int64_t own_user();

// Returns true if the process runs. Returns false if it has ended, even if its parent has not collected its
// exit status. Returns nullopt if the process belongs, or may belong, to another host or container.
std::optional<bool> runs_here(const ProcessIdentity& process);

}  // namespace sheaf
