// journal/lease: what the lease beside a multifile tells (docs/format.md, section 17): which process owns the
// multifile, and whether that process lives. journal/ownership takes leases.
//
// On the host of the owner that is known at once. Elsewhere a lock or the counter tells, which does not move
// if the owner has died. Local.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/export.hpp"
#include "format/lease.hpp"
#include "process/process_identity.hpp"
#include "storage/file.hpp"

namespace sheaf {

struct LeaseTimes {
  std::chrono::milliseconds beat{10'000};      // between two raises
  std::chrono::milliseconds patience{25'000};  // a counter that has not moved so long belongs to a dead job
};
// Those above, or what SHEAF_LEASE_TIMES says ("BEAT,PATIENCE" in ms; for tests).
SHEAF_EXPORT LeaseTimes lease_times();

enum class Holder : uint8_t {
  none,     // there is no lease, or its owner has ended
  living,   // the owner runs on this host, or holds a lock on the lease
  unknown,  // of another host, or not written yet: only watching tells
};

struct SHEAF_EXPORT LeaseView {
  Holder holder = Holder::none;
  std::optional<format::Lease> lease;
  std::optional<Error> problem;  // why it could not be read
  bool exists = false;           // something has its name

  // "process 17 on host a"; empty without a lease.
  std::string job() const {
    return lease ? "process " + std::to_string(lease->pid) + " on host " + lease->host : std::string();
  }
  // ", since 35 s"; empty if it is not known.
  std::string age() const;
};

// Whether the process has made the lease, where that can be told.
bool is_of(const format::Lease& lease, const ProcessIdentity& process);

// The contents of an open lease; nullopt if it is none.
std::optional<format::Lease> read_lease(File& file);

// One look at the file `name`, a lease. Never throws.
LeaseView look_at_lease_file(Store& store, const std::string& name);

// One look at the lease of the multifile that `path` is a physical file of. Never throws.
SHEAF_EXPORT LeaseView look_at_lease(Store& store, const std::string& path);

// Looks until it is known whether the owner of the multifile lives, for at most `times.patience`. Calls
// `waits` many times meanwhile, which may throw. The result is none or living.
SHEAF_EXPORT LeaseView watch_lease(Store& store, const std::string& path, const LeaseTimes& times,
                                   const std::function<void(const LeaseView&)>& waits);

// What to add to a message about a multifile that was not closed: who is writing it, or may be; what to do
// otherwise.
SHEAF_EXPORT std::string advice_on_unclosed(Store& store, const std::string& path);

}  // namespace sheaf
