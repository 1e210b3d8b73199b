// streams/preload/entries/handing_over: passes a descriptor to another process through a socket that both
// have inherited.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/non_copyable.hpp"
#include "streams/preload/descriptors.hpp"
#include "streams/preload/real.hpp"

namespace sheaf::preload {

// Sends the result of an open(2): `fd` and `error`, or only `error` if `fd` is negative.
void hand_over(int socket, int fd, int error);
// Receives the result of hand_over(). Returns the descriptor at the lowest free number, or -1 with the errno
// that was sent. Returns -1 on a socket error, too. `flags` are those of the open(2); only O_CLOEXEC is used.
// Closes `socket`.
int take_over(int socket, int flags);

// Blocks all signals during its lifetime, so that no signal handler of the program is called at the end of a
// helper process of this library.
class NoSignals : private NonCopyable {
 public:
  NoSignals() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
    sigpending(&pending_);
  }
  ~NoSignals() {
    const KeptErrno kept;
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  void forget_child() const noexcept {
    if (!sigismember(&pending_, SIGCHLD)) forget_signal(SIGCHLD);
  }

 private:
  sigset_t before_, pending_;
};

// Opens a captured file in a child of vfork(2). Returns a descriptor, or -1 with errno. The child shares the
// memory of its parent, and the tables in that memory must not contain files that only the child has open.
// Therefore a helper process calls `open` and passes the descriptor to the child. The program that the child
// executes registers the descriptor like every inherited one.
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

}  // namespace sheaf::preload
