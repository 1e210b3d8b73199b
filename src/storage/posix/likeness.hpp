// storage/posix/likeness: what a file is to its users beside its bytes: mode, owner, group, access control
// lists, extended attributes.
#pragma once

namespace sheaf {

// Gives the open file `to` what `from` (any descriptor, O_PATH too) has, as far as the system lets this
// process: what it does not let it is left out, and then nobody may do more with the file than with the other
// one. Never fails.
void give_likeness(int from, int to);

}  // namespace sheaf
