// cli/mount/session_signals: ends a session on SIGHUP, SIGINT and SIGTERM.
#pragma once

#include <array>
#include <csignal>
#include <utility>

#include "base/non_copyable.hpp"
#include "cli/mount/stream_prefetcher.hpp"

namespace sheaf::cli {

// Installs the signal handlers of libfuse, and handlers that stop the prefetcher before. A thread that stores
// may wait for a reply of another thread, and threads reply only until the session ends. One object at a
// time.
class SessionSignals : private NonCopyable {
 public:
  SessionSignals(fuse_session& session, StreamPrefetcher& prefetcher) : session_(session) {
    prefetcher_ = &prefetcher;
    fuse_set_signal_handlers(&session_);
    for (size_t i = 0; i < numbers.size(); ++i) {
      sigaction(numbers[i], nullptr, &of_libfuse_[i]);
      if (of_libfuse_[i].sa_handler == SIG_DFL || of_libfuse_[i].sa_handler == SIG_IGN) continue;
      struct sigaction ours = of_libfuse_[i];
      ours.sa_handler = stop_and_end;
      sigaction(numbers[i], &ours, nullptr);
    }
  }
  ~SessionSignals() {
    for (size_t i = 0; i < numbers.size(); ++i) sigaction(numbers[i], &of_libfuse_[i], nullptr);
    fuse_remove_signal_handlers(&session_);
  }

 private:
  static constexpr std::array numbers{SIGHUP, SIGINT, SIGTERM};

  static void stop_and_end(int number) {
    prefetcher_->stop();
    for (size_t i = 0; i < numbers.size(); ++i)
      if (numbers[i] == number) of_libfuse_[i].sa_handler(number);
  }

  fuse_session& session_;
  static inline StreamPrefetcher* prefetcher_ = nullptr;
  static inline std::array<struct sigaction, numbers.size()> of_libfuse_{};
};

}  // namespace sheaf::cli
