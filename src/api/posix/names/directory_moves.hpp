// api/posix/names/directory_moves: a directory that gets another name with the captured files in it.
#pragma once

namespace sheaf::posix {

// rename(2) of a directory in or below which captured files are (holds_captured); not inside. The directory
// first, then its captured files one after the other: a program that is killed between leaves some of them
// under their old names, in a directory that is not there, and who looks for one between finds none. A name
// that somebody has made anew between stays his; the file is NAME.sheaf. and a random number then. Those
// whose new names no pattern has become plain files. 0, or -1 with errno, and then all names are as they
// were. EXDEV where a set of theirs is in the directory itself, or a view: its patterns are names of before.
int move_directory(int from_at, const char* from, int to_at, const char* to, unsigned flags) noexcept;

}  // namespace sheaf::posix
