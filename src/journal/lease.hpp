// journal/lease: says that a job is writing a multifile, as long as it lives (docs/format.md, section 17).
//
// The first task of a set makes `NAME.lease` soon after the open, raises a counter in it every ten seconds,
// and removes it when the set is closed or given up. A thread makes it, since a new file takes a tenth of a
// second on some file systems; a set that is closed before has none. What a dead job leaves is told by
// whoever looks: at once on the machine it ran on, elsewhere from the counter, which does not move any more.
// Local; whatever goes wrong with a lease is no error, it is missing then.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/export.hpp"
#include "base/non_copyable.hpp"
#include "format/lease.hpp"
#include "process/heartbeat.hpp"
#include "storage/file.hpp"

namespace sheaf {

struct LeaseTimes {
  std::chrono::milliseconds begin{100};                         // from the open until it is made
  std::chrono::milliseconds made() const { return 4 * begin; }  // and there for others by then
  std::chrono::milliseconds beat{10'000};                       // between two raises
  std::chrono::milliseconds patience{
      25'000};  // after which a counter that has not moved belongs to a dead job
};
// Those above, or what SHEAF_LEASE_TIMES says ("BEAT,PATIENCE" in ms; for tests).
SHEAF_EXPORT LeaseTimes lease_times();

class Lease : private NonCopyable {
 public:
  // Of the set `path`. Where it cannot be made it is missing. Null if there can be no thread.
  static std::unique_ptr<Lease> take(std::shared_ptr<Store> store, const std::string& path);
  // Removes it, but not in a forked child, nor if somebody else has taken it over.
  ~Lease();

 private:
  struct Held;
  Lease(std::shared_ptr<Held> held, std::unique_ptr<Heartbeat> heartbeat)
      : held_(std::move(held)), heartbeat_(std::move(heartbeat)) {}

  const std::shared_ptr<Held> held_;
  std::unique_ptr<Heartbeat> heartbeat_;
};

enum class Holder : uint8_t {
  none,     // there is no lease, or its job has ended
  living,   // its job runs on this machine, or holds a lock on it
  unknown,  // of another machine: only watching tells
};

struct SHEAF_EXPORT LeaseView {
  Holder holder = Holder::none;
  std::optional<format::Lease> lease;
  std::optional<Error> problem;  // why it could not be looked at

  // "process 17 on host a"; empty without a lease.
  std::string job() const {
    return lease ? "process " + std::to_string(lease->pid) + " on host " + lease->host : std::string();
  }
};

// One look at the lease of the multifile that `path` is a physical file of. Never throws.
SHEAF_EXPORT LeaseView look_at_lease(Store& store, const std::string& path);

// Looks until it is known whether a job lives that writes the multifile: at most `times.patience`, and where
// there is no lease, twice as long as a job may take to make one. `waits` is
// called many times meanwhile, and may throw. The result is none or living.
SHEAF_EXPORT LeaseView watch_lease(Store& store, const std::string& path, const LeaseTimes& times,
                                   const std::function<void(const LeaseView&)>& waits);

// Removes the lease of the set `path`, of a job that has ended or is overridden. Never throws.
SHEAF_EXPORT void remove_lease(Store& store, const std::string& path);

// What to add to a message about a multifile that was not closed: who is writing it, or may be; what to do
// otherwise.
SHEAF_EXPORT std::string advice_on_unclosed(Store& store, const std::string& path);

}  // namespace sheaf
