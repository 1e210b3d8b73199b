#include "exchange/transfer/shared_range.hpp"

#include <algorithm>
#include <cerrno>

#include "base/error.hpp"
#include "exchange/transfer/hosts_file.hpp"
#include "storage/scattered.hpp"

namespace sheaf::exchange {

SharedRange::SharedRange(File& file, int64_t offset, int64_t length) : file_(file) {
  // The latter two are never read and written back.
  if (length == 0 || dynamic_cast<ScatteredFile*>(&file) || dynamic_cast<HostsFile*>(&file)) return;
  try {
    hold(offset, offset + length);
  } catch (const Error& error) {
    let_go();
    barred_.clear();
    if (error.errno_value() == EAGAIN) throw;
  }
}

SharedRange::~SharedRange() { let_go(); }

void SharedRange::hold(int64_t from, int64_t to) {
  while (from < to) {
    const LockResult got = file_.lock(from, to - from, false, Barred::tell);
    if (got.held) {
      held_.emplace_back(from, to);
      return;
    }
    const int64_t begin = std::clamp(got.from, from, to);
    const int64_t end = std::clamp(got.to, begin, to);
    hold(from, begin);
    barred_.emplace_back(begin, end);
    from = std::max(end, from + 1);
  }
}

void SharedRange::let_go() {
  for (const auto& [from, to] : held_) file_.unlock(from, to - from);
  held_.clear();
}

bool SharedRange::was_unguarded() {
  let_go();
  return std::ranges::any_of(barred_, [&](const Part& part) {
    const auto [from, to] = part;
    const LockResult now = file_.lock(from, to - from, false, Barred::tell);
    if (now.held) file_.unlock(from, to - from);
    return now.held || now.from > from || now.to < to;
  });
}

}  // namespace sheaf::exchange
