// multifile/saves/liveness: whether the processes that write a record are alive.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "base/os/deadline.hpp"
#include "format/save_record.hpp"
#include "multifile/journal/lease.hpp"

namespace sheaf::saves {

inline constexpr int32_t no_host = -1;

// Watches the slots of a record, whose tasks change them at least once in LeaseTimes::beat.
class Liveness {
 public:
  // Returns false if the record of `host` shows no change since it was first seen, LeaseTimes::timeout ago.
  bool is_alive(int32_t host, const std::vector<format::SaveSlot>& slots) {
    if (host != host_ || slots != slots_ || !deadline_) {
      host_ = host;
      slots_ = slots;
      deadline_.emplace(multifile::lease_times().timeout);
    }
    return !deadline_->expired();
  }

 private:
  int32_t host_ = no_host;
  std::vector<format::SaveSlot> slots_;
  std::optional<Deadline> deadline_;
};

}  // namespace sheaf::saves
