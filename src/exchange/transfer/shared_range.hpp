// exchange/transfer/shared_range: keeps other tasks from read-modify-write of a range while a task writes it.
//
// A task that sieves writes holds an exclusive lock on its range. It writes back an aligned block of
// sieve_block bytes only if the block contains bytes of its access. So writes of whole blocks need no lock,
// and all other writes hold a shared lock.
#pragma once

#include <utility>
#include <vector>

#include "base/extent.hpp"
#include "base/non_copyable.hpp"
#include "exchange/pieces/constants.hpp"
#include "storage/file.hpp"

namespace sheaf::exchange {

// Holds a shared lock on a range. Takes no lock if no task sieves writes of the file, because it supports no
// locks or is written as pieces (FileTraits). Skips parts that the program has locked: no other task can lock
// them, and so sieve them, until the program unlocks them.
class SharedRange : private NonCopyable {
 public:
  // Throws the error of File::lock if the range stays locked.
  SharedRange(File& file, int64_t offset, int64_t length);  // bytes; length 0: no lock is taken

  // Releases the range. Returns true if the program has released or replaced a lock in the range in the
  // meantime: another task may have read that part before this write and written it back afterwards.
  bool was_unguarded();

 private:
  void hold(int64_t from, int64_t to);

  File& file_;
  std::vector<RangeLock> held_;
  std::vector<Extent> barred_;
};

// Returns true if the gap [begin, end) between two extents contains a whole block of sieve_block bytes. A
// read-modify-write must leave out such gaps.
inline bool contains_block(int64_t begin, int64_t end) {
  return end - begin >= sieve_block + (sieve_block - begin % sieve_block) % sieve_block;
}

// Calls part(), which writes the range, while no other task reads the range and writes it back. If that could
// not be guaranteed, repeats the call, up to max_guarded_writes times.
template <class Part>
void while_shared(File& file, int64_t offset, int64_t length, Part part) {
  for (int times = 0; times < max_guarded_writes; ++times) {
    SharedRange shared(file, offset, length);
    part();
    if (!shared.was_unguarded()) return;
  }
}

}  // namespace sheaf::exchange
