// api/posix/entries/handing_over: a descriptor goes to another process, by a socket that both have.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "api/posix/descriptors.hpp"
#include "api/posix/real.hpp"
#include "base/non_copyable.hpp"

namespace sheaf::posix {

// The result of an open(2) with its errno: `fd` may be < 0.
void hand_over(int socket, int fd, int error);
// What the other process has handed over, at the lowest number that is free; an error of the socket: -1.
int take_over(int socket, int flags);

// The end of a process of ours is none of the handlers of the program.
class NoSignals : private NonCopyable {
 public:
  NoSignals() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
    sigpending(&pending_);
  }
  ~NoSignals() {
    const int error = errno;
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }
  void forget_child() const noexcept {
    if (!sigismember(&pending_, SIGCHLD)) forget_signal(SIGCHLD);
  }

 private:
  sigset_t before_, pending_;
};

// In the child of vfork(2), whose memory is that of its parent: that may not come to know of files that only
// the child has open. So a process of its own opens the file, by `open`, and hands its descriptor over for
// the program that the child becomes, which finds it as it finds all that it inherits.
template <class Open>
int by_another_process(const Open& open, int flags) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return -1;
  const NoSignals waiting;
  const pid_t opener = fork();
  if (opener == 0) {
    const int fd = open();
    const int error = errno;
    {
      const Inside inside;
      lock_slots();
    }
    hand_over(ends[1], fd, error);
    _exit(0);
  }
  real::close(ends[1]);
  const int fd = take_over(ends[0], flags);
  const int error = errno;
  while (opener > 0 && waitpid(opener, nullptr, 0) < 0 && errno == EINTR) continue;
  if (opener > 0) waiting.forget_child();
  return errno = error, fd;
}

}  // namespace sheaf::posix
