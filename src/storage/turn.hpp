// storage/turn: large writes of several processes to one file of a local file system go one at a time.
//
// A local file system admits one writer to a file at a time anyway. Left to the inode's lock, the waiting writers
// spin and disturb the one that is in; taking turns through a lock that they sleep on makes eight writers at least
// as fast as one (docs/tuning.md, "One physical file"). File systems that spread over machines let many writers in and
// pay for locks: there nobody takes turns.
#pragma once

#include <mutex>

namespace sheaf {

// Whether taking turns pays on a file system, given by its magic number: it is a local one.
bool turns_pay(long file_system);

// Holds the turn of a file while it lives. The lock is one on a byte that no multifile reaches; the kernel gives it
// back if the process dies. It belongs to the open file, so that threads who share that need `among_threads` as well.
// If the lock cannot be had at all, only they take turns.
class Turn {
 public:
  Turn(int fd, std::mutex& among_threads);
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  const std::lock_guard<std::mutex> among_threads_;
  int fd_;
};

}  // namespace sheaf
