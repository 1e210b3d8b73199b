// storage/posix/file_attributes: copies the attributes of a file: mode, owner, group, access control lists,
// extended attributes.
#pragma once

namespace sheaf {

// Copies the attributes of `from` (any descriptor, also O_PATH) to the open file `to`, as far as the system
// permits. If some cannot be copied, permissions are reduced: no user gets more access to the copy than to
// the original. Never fails.
void copy_file_attributes(int from, int to);

}  // namespace sheaf
