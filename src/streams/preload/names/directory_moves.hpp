// streams/preload/names/directory_moves: renames a directory together with its captured files.
#pragma once

namespace sheaf::preload {

// Implements rename(2) of a directory with captured files in or below it (holds_captured). Renames the
// directory first, then its captured files one by one. Must not be called within an Inside
// (streams/preload/inside.hpp).
// - If the program is killed during the renames, some files keep their old names, in a directory that no
//   longer exists. A concurrent lookup of a file may fail.
// - If another process creates the new name of a file during the call, that file stays. The renamed file
//   becomes NAME.sheaf. followed by a random number.
// - Files become plain if no pattern matches their new names.
//
// Returns 0, or -1 with errno and all names unchanged. Fails with EXDEV if the directory holds the set of one
// of the files, or a view, because their rules contain the old name of the directory.
int move_directory(int from_at, const char* from, int to_at, const char* to, unsigned flags) noexcept;

}  // namespace sheaf::preload
