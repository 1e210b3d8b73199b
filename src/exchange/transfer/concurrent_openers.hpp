// exchange/transfer/concurrent_openers: whether another handle has a file open for writing, where hosts share
// no page cache. The other handle may belong to another communicator or to a single task.
//
// MPI (3.1, 13.6.1) allows two handles to write side by side without synchronization. So no task may read a
// gap between extents and write it back while another handle writes. Task 0 of each writing handle locks one
// byte, chosen at random beyond all data, as long as the handle is open. A task that can lock all other such
// bytes is alone until it releases them. Programs that write without MPI-IO hold no such byte:
// docs/sharedfile.md.
#pragma once

#include <memory>

#include "storage/file.hpp"

namespace sheaf::exchange {

class ConcurrentOpeners {
 public:
  // Local, on task 0. Announces this handle to other handles. Waits while another handle fills gaps. Throws
  // io with EAGAIN if that handle does not finish in time, and the errors of locking.
  void announce(std::shared_ptr<File> file);
  // Local. Withdraws the announcement. All tasks of the handle must have published their writes.
  void retire() {
    mark_ = {};
    file_.reset();
  }
  bool is_announced() const { return static_cast<bool>(mark_); }

  // On task 0. While the result is held, no other handle writes. Returns null if another handle may be open.
  RangeLock keep_out();

 private:
  std::shared_ptr<File> file_;
  int64_t mine_ = 0;  // index of this handle's byte
  RangeLock mark_;
};

}  // namespace sheaf::exchange
