#include "storage/range_lock.hpp"

#include <algorithm>
#include <cerrno>
#include <thread>

namespace sheaf {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds least{10'000};
constexpr int64_t slow = (1 << 20) / 1000;  // bytes per millisecond
constexpr int64_t most_at_once =
    64 << 20;  // bytes that a task moves while it holds a range, sparse ones included
constexpr int64_t most_tasks = 1 << 20;  // the bound stays one

}  // namespace

milliseconds lock_patience(int64_t tasks, int64_t length) {
  return least + milliseconds(std::clamp<int64_t>(tasks, 1, most_tasks) *
                              (std::clamp<int64_t>(length, 0, most_at_once) / slow));
}

void Looks::rest() const {
  using std::chrono::microseconds;
  std::this_thread::sleep_for(
      std::clamp<std::chrono::nanoseconds>(waited() / 8, microseconds(20), milliseconds(10)));
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
