// api/posix/duplicates: dup and close as the entry points do them, for those of stdio.
#pragma once

namespace sheaf::posix {

// dup(2) of a captured descriptor, with O_CLOEXEC in `flags` or without. Inside.
int duplicate_captured(int fd, int flags);
// close(2), captured or not.
int close_descriptor(int fd);

}  // namespace sheaf::posix
