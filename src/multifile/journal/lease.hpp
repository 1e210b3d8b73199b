// multifile/journal/lease: reads the lease beside a multifile (docs/format.md, section 17): which process
// owns the multifile, and whether that process is alive. multifile/journal/ownership takes leases.
//
// On the owner's host the state of the process is known at once. On other hosts a lock on the lease, or a
// counter that increases, shows that the owner is alive. All calls are local.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/export.hpp"
#include "base/os/process_identity.hpp"
#include "format/lease.hpp"
#include "storage/file.hpp"

namespace sheaf::multifile {

struct LeaseTimes {
  std::chrono::milliseconds beat{10'000};     // between two increments of the counter
  std::chrono::milliseconds timeout{25'000};  // an owner with a counter unchanged for this long is dead
};
// Returns the defaults, or the value of SHEAF_LEASE_TIMES ("BEAT,PATIENCE" in ms; for tests).
SHEAF_EXPORT LeaseTimes lease_times();

enum class Holder : uint8_t {
  none,     // no lease, or its owner has ended
  living,   // the owner runs on this host, or holds a lock on the lease
  unknown,  // the owner is on a different host, or the lease is still empty: see watch_lease()
};

struct SHEAF_EXPORT LeaseView {
  Holder holder = Holder::none;
  std::optional<format::Lease> lease;
  std::optional<Error> problem;  // why the lease could not be read
  bool exists = false;           // a file with the name of the lease exists

  // Returns "process 17 on host a"; empty without a lease.
  std::string job() const {
    return lease ? "process " + std::to_string(lease->pid) + " on host " + lease->host : std::string();
  }
  // Returns the age of the lease as text, for example ", since 35 s"; empty if its creation time is unknown.
  std::string age() const;
};

// Returns true if `process` created the lease. Returns false if the lease does not identify its process.
bool is_of(const format::Lease& lease, const ProcessIdentity& process);

// Returns the contents of an open lease; nullopt if it is no lease.
std::optional<format::Lease> read_lease(File& file);

// Reads the lease file `name` once. Never throws.
LeaseView look_at_lease_file(Store& store, const std::string& name);

// Reads once the lease of the multifile with the physical file `path`. Never throws.
SHEAF_EXPORT LeaseView look_at_lease(Store& store, const std::string& path);

// Waits for at most `times.timeout` until it is known whether the owner of the multifile is alive. Calls
// `waits` repeatedly during the wait; an exception from it ends the wait. The holder in the result is `none`
// or `living`.
SHEAF_EXPORT LeaseView watch_lease(Store& store, const std::string& path, const LeaseTimes& times,
                                   const std::function<void(const LeaseView&)>& waits);

// Returns advice for a message about an unclosed multifile: the job that is or may be writing it, or else
// what to do.
SHEAF_EXPORT std::string advice_on_unclosed(Store& store, const std::string& path);

}  // namespace sheaf::multifile
