// api/posix/entries/handing_over: a descriptor goes to another process, by a socket that both have.
#pragma once

namespace sheaf::posix {

// The result of an open(2) with its errno: `fd` may be < 0.
void hand_over(int socket, int fd, int error);
// What the other process has handed over, at the lowest number that is free; an error of the socket: -1.
int take_over(int socket, int flags);

}  // namespace sheaf::posix
