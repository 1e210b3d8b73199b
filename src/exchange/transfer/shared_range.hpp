// exchange/transfer/shared_range: ranges that a task writes while nobody reads and writes them back.
#pragma once

#include <utility>
#include <vector>

#include "base/non_copyable.hpp"
#include "exchange/pieces/constants.hpp"
#include "storage/file.hpp"

namespace sheaf::exchange {

// Holds a range together with others who write there without reading first. Nothing where the file knows no
// locks: nobody reads and writes back there; nor for files that take their pieces together (FileTraits).
// Parts that the program has locked are left out: in them nobody else gets a lock either, as long as it does.
class SharedRange : private NonCopyable {
 public:
  // Throws what File::lock throws of a range that does not come free.
  SharedRange(File& file, int64_t offset, int64_t length);  // bytes; none: nothing is held

  // Gives the range back. Whether a lock of the program's has gone since, or been another for a moment: then
  // somebody may have read a part of the range before this task wrote it, and may have written it back
  // afterwards.
  bool was_unguarded();

 private:
  using Part = std::pair<int64_t, int64_t>;  // bytes [first, second)

  void hold(int64_t from, int64_t to);

  File& file_;
  std::vector<RangeLock> held_;
  std::vector<Part> barred_;
};

// Carries out `part`, which writes the range, while nobody reads and writes it back; once more if that is not
// sure.
template <class Part>
void while_shared(File& file, int64_t offset, int64_t length, Part part) {
  for (int times = 0; times < most_guarded_writes; ++times) {
    SharedRange shared(file, offset, length);
    part();
    if (!shared.was_unguarded()) return;
  }
}

}  // namespace sheaf::exchange
