// multifile/saves/host_watch: what a task that works for a save sees of the other tasks, in the records of
// their hosts. Used by one thread at a time.
#pragma once

#include <cstdint>
#include <functional>

#include "multifile/saves/liveness.hpp"
#include "multifile/saves/save_terms.hpp"

namespace sheaf::saves {

// Throws the errors of read_record().
class HostWatch {
 public:
  // `terms` must outlive the object.
  explicit HostWatch(const SaveTerms& terms) : terms_(terms) {}

  // Returns the record of this host. Throws `foreign` if it was removed.
  format::SaveRecord own_record() const;
  // Throws `io` if a task of this host that is not synced has stopped. `record` is that of this host.
  void require_alive(const format::SaveRecord& record);
  // Looks at the hosts in turn, from the first one that was not ready. Returns true if all are ready, and
  // begins with the first host again. Throws the failure of a task, and `io` if a host has stopped.
  bool are_ready(const std::function<bool(const format::SaveRecord&)>& is_ready);

 private:
  const SaveTerms& terms_;
  Liveness awaited_;       // watches the host that this task waits for
  int32_t next_host_ = 0;  // all hosts before it are ready
};

}  // namespace sheaf::saves
