// streams/preload/names/directory_moves: renames a directory together with its captured files.
#pragma once

namespace sheaf::posix {

// rename(2) of a directory with captured files in or below it (holds_captured). Must not be called within an
// Inside (streams/preload/inside.hpp). Renames the directory first, then its captured files one by one.
// - If the program is killed in between, some files keep their old names, in a directory that no longer
//   exists. A concurrent lookup of a file may fail.
// - A name that another process creates in between is kept; the renamed file becomes NAME.sheaf. followed by
//   a random number.
// - Files become plain if no pattern matches their new names.
//
// Returns 0, or -1 with errno and all names unchanged. EXDEV: the directory holds a set of such files, or a
// view, so that their patterns refer to the old name.
int move_directory(int from_at, const char* from, int to_at, const char* to, unsigned flags) noexcept;

}  // namespace sheaf::posix
