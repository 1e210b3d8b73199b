// cli/mount/opening: the multifiles and sets of a command line as a file system.
#pragma once

#include <string>
#include <vector>

#include "cli/mount/file_system.hpp"
#include "mode/checking.hpp"

namespace sheaf::cli {

// How `sheaf mount` tells sheaf-mount its options: words with commas between them.
struct MountWords {
  bool foreground = false;
  bool allow_other = false;
  bool write = false;
  Checking checking = Checking::on;
};
MountWords mount_words(const std::string& text);

// Paths are absolute. To write, there is one. Says on stderr what was never closed, and what cannot be read.
// Throws what opening throws.
FileSystem open_multifiles(const std::vector<std::string>& paths, const MountWords& words);

}  // namespace sheaf::cli
