// storage/posix/posix_locks: record locks of the operating system, and who is in their way.
//
// This library locks open file descriptions: each open file is a holder of its own, in one process too.
// Programs mostly lock with lockf(3) or fcntl(2), for processes; the kernel tells the two apart.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace sheaf {

// A lock that is in the way of another: bytes [from, to) of a file.
struct Bar {
  int64_t from = 0;
  int64_t to = 0;
  pid_t pid = 0;

  // Held by a process of this machine, and not by an open file (-1); 0 is one that cannot be seen from here.
  // What is held on another machine, below -1, is not known to be either.
  bool of_program() const { return pid >= 0; }
};

// 0, or the errno. type: F_RDLCK, F_WRLCK, F_UNLCK.
int try_lock_range(int fd, short type, int64_t offset, int64_t length);

// What keeps this descriptor from such a lock; nothing if it could have it by now.
std::optional<Bar> find_bar(int fd, short type, int64_t offset, int64_t length);

}  // namespace sheaf
