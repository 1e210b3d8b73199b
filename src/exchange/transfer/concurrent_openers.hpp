// exchange/transfer/concurrent_openers: determines whether another handle has a file open for writing, for
// hosts that share no page cache. The other handle may belong to another communicator or to a single task.
//
// MPI (3.1, 13.6.1) allows two handles to write side by side without synchronization. So no task may read a
// gap between extents and write it back while another handle writes. Task 0 of each writing handle locks one
// byte, chosen at random beyond all data, as long as the handle is open. If a task can lock all other bytes
// of that region, no other handle writes until it releases them. Programs that write without MPI-IO lock no
// byte and are not detected (docs/sharedfile.md).
#pragma once

#include <memory>

#include "storage/file.hpp"

namespace sheaf::exchange {

class ConcurrentOpeners {
 public:
  // Announces this handle to other handles. Local; called on task 0. Waits while another handle fills gaps.
  // Throws io with EAGAIN if that handle does not finish in time, and the errors of locking.
  void announce(std::shared_ptr<File> file);
  // Withdraws the announcement. Requires that all tasks of the handle have published their writes. Local.
  void retire() {
    mark_ = {};
    file_.reset();
  }
  bool is_announced() const { return static_cast<bool>(mark_); }

  // Keeps other handles from writing while the result is held. Returns an empty lock if another handle may be
  // open. Local; called on task 0.
  RangeLock keep_out();

 private:
  std::shared_ptr<File> file_;
  int64_t mine_ = 0;  // index of the byte that this handle has locked
  RangeLock mark_;
};

}  // namespace sheaf::exchange
