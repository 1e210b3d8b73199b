// largest_file: limits the file size of this process so that writes beyond it fail (EFBIG) until the limit is
// removed. Needs no root privileges.
#pragma once

#include <sys/resource.h>

#include <csignal>

namespace sheaf::test {

// The destructor removes the limit. SIGXFSZ is ignored during the object's lifetime.
class LargestFile {
 public:
  explicit LargestFile(rlim_t bytes) : action_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  LargestFile(const LargestFile&) = delete;
  LargestFile& operator=(const LargestFile&) = delete;
  ~LargestFile() {
    lift();
    std::signal(SIGXFSZ, action_);
  }
  void lift() { ::setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  void (*const action_)(int);
  rlimit before_{};
};

}  // namespace sheaf::test
