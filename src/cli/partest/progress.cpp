#include "cli/partest/progress.hpp"

#include <unistd.h>

#include <cstdio>

namespace sheaf::partest {

Progress::Progress(std::string what, int64_t total, bool mine)
    : what_(std::move(what)),
      total_(total),
      visible_(mine && total > 0 && ::isatty(STDERR_FILENO) == 1),
      last_(std::chrono::steady_clock::now()) {}

Progress::~Progress() {
  if (shown_) std::fprintf(stderr, "\r\033[K");
}

void Progress::at(int64_t done) {
  if (!visible_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  shown_ = true;
  std::fprintf(stderr, "\r%s: %3.0f%%", what_.c_str(),
               100.0 * static_cast<double>(done) / static_cast<double>(total_));
  std::fflush(stderr);
}

}  // namespace sheaf::partest
