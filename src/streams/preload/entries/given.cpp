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

int new_pair(int result, const int (&pair)[2]) {
  if (result == 0)
    for (const int fd : pair) new_descriptor(fd);
  return result;
}

void new_standard_streams() {
  for (const int fd : {0, 1, 2}) new_descriptor(fd);
}

}  // namespace

SHEAF_REPLACED(int, pipe, int (&pair)[2]) { return new_pair(next::pipe(pair), pair); }
SHEAF_REPLACED(int, pipe2, int (&pair)[2], int flags) { return new_pair(next::pipe2(pair, flags), pair); }
SHEAF_REPLACED(int, socket, int family, int type, int protocol) {
  return new_descriptor(next::socket(family, type, protocol));
}
SHEAF_REPLACED(int, socketpair, int family, int type, int protocol, int (&pair)[2]) {
  return new_pair(next::socketpair(family, type, protocol, pair), pair);
}
SHEAF_REPLACED(int, accept, int fd, sockaddr* address, socklen_t* size) {
  return new_descriptor(next::accept(fd, address, size));
}
SHEAF_REPLACED(int, accept4, int fd, sockaddr* address, socklen_t* size, int flags) {
  return new_descriptor(next::accept4(fd, address, size, flags));
}
SHEAF_REPLACED(int, daemon, int stays, int keeps) {
  const int result = next::daemon(stays, keeps);
  if (result == 0 && !stays) forget_directories();
  if (result == 0 && !keeps) new_standard_streams();
  return result;
}
SHEAF_REPLACED(int, login_tty, int fd) {
  const int result = next::login_tty(fd);
  if (result == 0) new_standard_streams();
  return result;
}
SHEAF_REPLACED(int, forkpty, int* control, char* name, const termios* terminal, const winsize* size) {
  const int result = next::forkpty(control, name, terminal, size);
  if (result == 0) new_standard_streams();
  if (result > 0) new_descriptor(*control);
  return result;
}

}  // namespace sheaf::preload
