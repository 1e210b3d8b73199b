// exchange/transfer/shared_range: ranges that a task writes while no other task reads them and writes them
// back.
#pragma once

#include <utility>
#include <vector>

#include "base/non_copyable.hpp"
#include "exchange/pieces/constants.hpp"
#include "storage/file.hpp"

namespace sheaf::exchange {

// Holds a shared lock on a range, together with other plain writers. Takes no lock if the file supports none,
// since then no task sieves writes, and none for files that take segments together (FileTraits). Parts that
// the program has locked are skipped: no other task gets a lock there either until the program unlocks them.
class SharedRange : private NonCopyable {
 public:
  // Throws the error of File::lock if the range stays locked.
  SharedRange(File& file, int64_t offset, int64_t length);  // bytes; length 0: no lock is taken

  // Releases the range. Returns true if a lock of the program was released or replaced in the meantime.
  // Another task may then have read a part of the range before this write and written it back afterwards.
  bool was_unguarded();

 private:
  using Part = std::pair<int64_t, int64_t>;  // bytes [first, second)

  void hold(int64_t from, int64_t to);

  File& file_;
  std::vector<RangeLock> held_;
  std::vector<Part> barred_;
};

// Calls `part`, which writes the range, while no task reads the range and writes it back. Calls it again if
// that could not be guaranteed.
template <class Part>
void while_shared(File& file, int64_t offset, int64_t length, Part part) {
  for (int times = 0; times < max_guarded_writes; ++times) {
    SharedRange shared(file, offset, length);
    part();
    if (!shared.was_unguarded()) return;
  }
}

}  // namespace sheaf::exchange
