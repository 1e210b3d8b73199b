// exchange/transfer/other_handles: whether a file that is written on hosts without a common page cache is
// open for writing by another handle, too: of another communicator, or of one task.
//
// By MPI's rules (3.1, 13.6.1) two handles may write side by side without telling each other, so nobody may
// read a gap between pieces and write it back while there is another one. Task 0 of each handle that writes
// locks one byte of its own, chosen at random behind all that files hold, as long as the handle is open. Who
// can lock all other such bytes is alone, and stays so until it gives them back. Programs that write without
// MPI-IO have no such byte: docs/sharedfile.md.
#pragma once

#include <memory>

#include "storage/file.hpp"

namespace sheaf::exchange {

class OtherHandles {
 public:
  // Local, at task 0: from now on others know of this handle. Waits while another one is filling gaps. Throws
  // io with EAGAIN if that does not end, and what locks throw.
  void announce(std::shared_ptr<File> file);
  // Local: others need not know any more. All tasks of the handle have brought home what they wrote.
  void retire() {
    mark_ = {};
    file_.reset();
  }
  bool is_announced() const { return static_cast<bool>(mark_); }

  // At task 0. No other handle is written by as long as the result is held; null: one may be.
  RangeLock keep_out();

 private:
  std::shared_ptr<File> file_;
  int64_t mine_ = 0;  // which of the bytes
  RangeLock mark_;
};

}  // namespace sheaf::exchange
