#include "cli/terminal.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "base/error.hpp"

namespace sheaf::cli {

namespace {

volatile std::sig_atomic_t signal_seen = 0;

// Records the first signal. At a second one, ends the process at once, because the user does not want to wait
// for the cleanup.
void remember(int signal) {
  if (signal_seen != 0) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  signal_seen = signal;
}

}  // namespace

void catch_signals() {
  struct sigaction action = {};
  action.sa_handler = remember;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before = {};
    ::sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) ::sigaction(signal, &action, nullptr);  // respects nohup
  }
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ,
              SIG_IGN);  // a write beyond the limit then fails, and the command removes its outputs
}

void check_signals() {
  if (signal_seen != 0) throw Interrupted{signal_seen};
}

void die_of(int signal) {
  std::signal(signal, SIG_DFL);
  std::raise(signal);
  std::_Exit(128 + signal);
}

void raise_descriptor_limit() {
  rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

void finish_stdout() {
  errno = 0;
  if (std::fflush(stdout) != 0 || std::ferror(stdout))
    throw os_error("cannot write to", "standard output", errno ? errno : EIO);
}

bool has_terminal() { return ::isatty(STDERR_FILENO) == 1; }

TerminalProgress::TerminalProgress(std::string label)
    : label_(std::move(label)), visible_(has_terminal()), start_(Clock::now()), last_(start_) {}

TerminalProgress::~TerminalProgress() {
  if (shown_) {
    show(Clock::now());
    std::fputc('\n', stderr);
  }
}

void TerminalProgress::begin(int64_t total_bytes) {
  check_signals();
  total_ = total_bytes;
  done_ = 0;
  start_ = last_ = Clock::now();
}

void TerminalProgress::advance(int64_t bytes) {
  check_signals();
  done_ += bytes;
  if (!visible_) return;
  const auto now = Clock::now();
  if (now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  show(now);
}

void TerminalProgress::begin_output(int64_t, const std::string&) { check_signals(); }

void TerminalProgress::show(Clock::time_point now) {
  const double seconds = std::max(1e-3, std::chrono::duration<double>(now - start_).count());
  const double percent =
      total_ > 0 ? 100.0 * static_cast<double>(done_) / static_cast<double>(total_) : 100.0;
  std::fprintf(stderr, "\r%s: %5.1f%%  %8.1f MB/s ", label_.c_str(), percent,
               static_cast<double>(done_) / seconds / 1e6);
  std::fflush(stderr);
  shown_ = true;
}

}  // namespace sheaf::cli
