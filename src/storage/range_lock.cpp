#include "storage/range_lock.hpp"

#include <algorithm>
#include <cerrno>

#include "base/assert.hpp"
#include "storage/constants.hpp"

namespace sheaf {

using namespace storage_constants;
using std::chrono::milliseconds;

milliseconds lock_timeout(int64_t tasks, int64_t length) {
  SHEAF_ASSERT(tasks >= 0 && length >= 0);
  return min_lock_timeout +
         milliseconds(std::clamp<int64_t>(tasks, 1, max_lockers) *
                      (std::clamp<int64_t>(length, 0, max_moved_in_lock) / slowest_storage));
}

Error not_locked(const std::string& path, int64_t offset, int64_t length, const std::string& holder,
                 std::chrono::nanoseconds waited) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(waited).count();
  return Error(Code::io,
               "cannot lock " + std::to_string(length) + " bytes at offset " + std::to_string(offset) +
                   " of '" + path + "': " + holder + " has a lock there that it has not given back for " +
                   std::to_string(seconds) + " s",
               EAGAIN);
}

}  // namespace sheaf
