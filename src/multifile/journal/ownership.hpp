// multifile/journal/ownership: the exclusive right of one process to write a multifile (docs/format.md,
// section 17).
//
// The first task of a set acquires the right by creating `NAME.lease` before it changes any file, and
// releases the right when the set is closed or given up. A heartbeat increments a counter in the lease, which
// shows other hosts that the owner is alive. A different program may take the set over from a suspended
// owner; require_owned() detects that. All calls are local: no other task takes part.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/export.hpp"
#include "base/non_copyable.hpp"
#include "base/os/heartbeat.hpp"
#include "multifile/journal/lease.hpp"
#include "multifile/journal/writing_right.hpp"
#include "storage/store.hpp"

namespace sheaf::multifile {

struct OwnershipRequest {
  bool steals = false;  // take over from a living owner
  // Take over from an earlier open that this process has not closed. If false, that open counts as a living
  // owner.
  bool reopens = true;
  // Called repeatedly while the previous owner is watched.
  std::function<void(const LeaseView&)> waits = [](const LeaseView&) {};
  // Advice about a living owner, for the error message.
  std::string advice =
      "wait until it has closed the file, or take it over with the word steal in the open mode: its next "
      "flush or close fails then";
};

class SHEAF_EXPORT Ownership : private NonCopyable {
 public:
  // Acquires the multifile `path`. Throws `foreign` if a different living process owns it, after watching the
  // owner for at most LeaseTimes::timeout. Takes over from a dead owner, from this process itself, and from
  // any owner if the request steals. Adds a warning about a takeover unless the owner is known to be dead. If
  // no lease can be created, returns null and adds a warning, unless the directory is missing.
  static std::shared_ptr<Ownership> take(std::shared_ptr<Store> store, const std::string& path,
                                         const OwnershipRequest& request = {});
  // Does the same with a store that must outlive the object.
  static std::shared_ptr<Ownership> take(Store& store, const std::string& path,
                                         const OwnershipRequest& request = {});
  // Releases the multifile, unless it was lost or this is a forked child.
  ~Ownership();

  uint64_t id() const;  // id of the lease
  // Returns true if a previous owner had not released the multifile: its tasks may still write.
  bool took_over() const;
  bool is_local() const;  // only this host can access the file system of the lease

  // Returns the object that the process checks before writes. It must not be used after the store was
  // destroyed.
  const std::shared_ptr<WritingRight>& right() const;
  // Throws `foreign`, now and in all later calls, if a different program has taken the multifile over or
  // removed the lease. Failures of the check itself are no errors.
  using LeaseCheck = WritingRight::LeaseCheck;
  void require_owned(LeaseCheck look) { right()->require(look); }

 private:
  struct OwnershipState;
  Ownership(std::shared_ptr<OwnershipState> held, std::unique_ptr<Heartbeat> heartbeat)
      : held_(std::move(held)), heartbeat_(std::move(heartbeat)) {}

  const std::shared_ptr<OwnershipState> held_;
  std::unique_ptr<Heartbeat> heartbeat_;  // null: the thread could not be created
};

}  // namespace sheaf::multifile
