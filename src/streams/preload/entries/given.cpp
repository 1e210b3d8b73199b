// streams/preload/entries/given: the entry points of other functions that create or replace descriptors. The
// C library does so by internal calls that bypass the preload. These entry points then drop stale state of
// the descriptors.
#include <pty.h>
#include <sys/socket.h>
#include <unistd.h>

#include "streams/preload/duplicates.hpp"
#include "streams/preload/names/places.hpp"
#include "streams/preload/real.hpp"

namespace sheaf::preload {

namespace {

namespace next {
constinit Real<int(int*)> pipe{"pipe"};
constinit Real<int(int*, int)> pipe2{"pipe2"};
constinit Real<int(int, int, int)> socket{"socket"};
constinit Real<int(int, int, int, int*)> socketpair{"socketpair"};
constinit Real<int(int, sockaddr*, socklen_t*)> accept{"accept"};
constinit Real<int(int, sockaddr*, socklen_t*, int)> accept4{"accept4"};
constinit Real<int(int, int)> daemon{"daemon"};
constinit Real<int(int)> login_tty{"login_tty"};
constinit Real<int(int*, char*, const termios*, const winsize*)> forkpty{"forkpty"};
}  // namespace next

int new_pair(int result, const int (&pair)[2]) {
  if (result == 0)
    for (const int fd : pair) new_descriptor(fd);
  return result;
}

void new_standard_streams() {
  for (const int fd : {0, 1, 2}) new_descriptor(fd);
}

}  // namespace

SHEAF_ENTRY(int, pipe, int (&pair)[2]) { return new_pair(next::pipe(pair), pair); }
SHEAF_ENTRY(int, pipe2, int (&pair)[2], int flags) { return new_pair(next::pipe2(pair, flags), pair); }
SHEAF_ENTRY(int, socket, int family, int type, int protocol) {
  return new_descriptor(next::socket(family, type, protocol));
}
SHEAF_ENTRY(int, socketpair, int family, int type, int protocol, int (&pair)[2]) {
  return new_pair(next::socketpair(family, type, protocol, pair), pair);
}
SHEAF_ENTRY(int, accept, int fd, sockaddr* address, socklen_t* size) {
  return new_descriptor(next::accept(fd, address, size));
}
SHEAF_ENTRY(int, accept4, int fd, sockaddr* address, socklen_t* size, int flags) {
  return new_descriptor(next::accept4(fd, address, size, flags));
}
SHEAF_ENTRY(int, daemon, int stays, int keeps) {
  const int result = next::daemon(stays, keeps);
  if (result == 0 && !stays) forget_directories();
  if (result == 0 && !keeps) new_standard_streams();
  return result;
}
SHEAF_ENTRY(int, login_tty, int fd) {
  const int result = next::login_tty(fd);
  if (result == 0) new_standard_streams();
  return result;
}
SHEAF_ENTRY(int, forkpty, int* control, char* name, const termios* terminal, const winsize* size) {
  const int result = next::forkpty(control, name, terminal, size);
  if (result == 0) new_standard_streams();
  if (result > 0) new_descriptor(*control);
  return result;
}

}  // namespace sheaf::preload
