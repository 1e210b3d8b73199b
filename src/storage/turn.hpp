// storage/turn: large writes of several processes to one file of a local file system go one at a time.
//
// A local file system admits one writer to a file at a time anyway. Left to the inode's lock, the waiting writers
// spin and disturb the one that is in; taking turns through a lock that they sleep on makes eight writers at least
// as fast as one (docs/tuning.md, "One physical file"). File systems that spread over machines let many writers in and
// pay for locks: there nobody takes turns (takes_turns() in storage/traits)
#pragma once

#include <mutex>

#include "storage/futex.hpp"

namespace sheaf {

// One of those who take turns by `words` (may be null) will want no more: the next one need not wait for its next look.
void last_turn_taken(SharedWord* words);

// Holds the turn of a file while it lives. Whoever has it gives it back after every transfer and mostly wants it again at
// once. If that woke the next one each time, in vain, it would cost several percent; so the next one, while all others
// sleep, looks now and then. Threads who share an open file need `among_threads`; they count as one task.
//
// Where the tasks share memory, the turn is a word of it: two atomic operations. Elsewhere it is a record lock on a byte
// that no multifile reaches; the program may have locked it with all the rest of the file, then there are no turns. A turn only saves
// time: who cannot get it goes ahead in the end, so that nobody waits for a task that has died or was stopped. With Wait::no, the turn is taken if it is free at once. With Wait::awake, for tasks that may compute between
// two writes, the one who waits leaves its core to others for a while, and then goes ahead without the turn: in the lock of the inode it
// would only spin, while they have something to do. Where they have not, one of those who wait goes there at once, as the next one. That
// needs `words`.
class Turn {
 public:
  enum class Wait { no, yes, awake };
  Turn(int fd, std::mutex& among_threads, SharedWord* words, Wait wait);
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  bool mine() const { return mine_; }

 private:
  bool try_words();
  bool try_locks();
  void take_words();
  void take_locks();
  void wait_awake();

  const std::unique_lock<std::mutex> among_threads_;
  const int fd_;
  SharedWord* const words_;  // whether the turn is taken, and the place of the one who is next; may be null
  bool mine_ = false;
  bool next_ = false;  // holds the place of the one who is next
};

}  // namespace sheaf
