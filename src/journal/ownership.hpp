// journal/ownership: the right to write a multifile, which one process has at a time (docs/format.md,
// section 17).
//
// The first task of a set takes it before anything is changed, by making `NAME.lease`, and gives it back when
// the set is closed or given up. A heartbeat raises a counter in the lease, by which other hosts see that the
// owner lives. An owner that has stopped may lose the set to another program; it finds out by
// require_owned(). Local: no other task takes part.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/export.hpp"
#include "base/non_copyable.hpp"
#include "journal/lease.hpp"
#include "journal/writing_right.hpp"
#include "process/heartbeat.hpp"
#include "storage/store.hpp"

namespace sheaf {

struct OwnershipRequest {
  bool steals = false;  // takes over from an owner that lives
  // Takes over from this process itself, which has forgotten a close; else that is an owner that lives.
  bool reopens = true;
  // Called many times while the owner before is watched.
  std::function<void(const LeaseView&)> waits = [](const LeaseView&) {};
  // What to do about an owner that lives, for the message.
  std::string advice =
      "wait until it has closed the file, or take it over with the word steal in the open mode: its next "
      "flush or close fails then";
};

class SHEAF_EXPORT Ownership : private NonCopyable {
 public:
  // Takes the multifile `path`. Throws `foreign` while another process lives that owns it, after watching it
  // for at most LeaseTimes::patience. An owner that has died, one that this process is itself, and any owner
  // if the request steals, is taken over; a warning says so unless the owner is known to be dead. Null, with
  // one warning, where no lease can be made; null without one if the directory is missing.
  static std::shared_ptr<Ownership> take(std::shared_ptr<Store> store, const std::string& path,
                                         const OwnershipRequest& request = {});
  // The same with a store that outlives the object.
  static std::shared_ptr<Ownership> take(Store& store, const std::string& path,
                                         const OwnershipRequest& request = {});
  // Gives it back, unless it was lost, or this is a forked child.
  ~Ownership();

  uint64_t id() const;  // of the lease
  // Another owner was before this one that has not given the multifile back: its tasks may still write.
  bool took_over() const;
  bool is_local() const;  // the lease is on a file system of this host alone

  // What the process looks at before it writes; not to be used when the store has gone.
  const std::shared_ptr<WritingRight>& right() const;
  // Throws `foreign`, from then on always, if another program has taken the multifile over, or removed the
  // lease. What cannot be found out is no error.
  using Look = WritingRight::Look;
  void require_owned(Look look) { right()->require(look); }

 private:
  struct Held;
  Ownership(std::shared_ptr<Held> held, std::unique_ptr<Heartbeat> heartbeat)
      : held_(std::move(held)), heartbeat_(std::move(heartbeat)) {}

  const std::shared_ptr<Held> held_;
  std::unique_ptr<Heartbeat> heartbeat_;  // null: there can be no thread
};

}  // namespace sheaf
