// cli/mount/opening: opens the multifiles and sets of a command line as a file system.
#pragma once

#include <string>
#include <vector>

#include "cli/mount/file_system.hpp"
#include "multifile/options/checking.hpp"

namespace sheaf::cli {

// Options that `sheaf mount` passes to sheaf-mount as comma-separated words.
struct MountWords {
  bool foreground = false;
  bool allow_other = false;
  bool write = false;
  multifile::Checking checking = multifile::Checking::on;
};
MountWords mount_words(const std::string& text);

// Opens `paths` as one file system. The paths must be absolute; if words.write is set, there must be exactly
// one. Reports unclosed multifiles and unreadable content on stderr. Throws the errors of opening.
MountedFileSystem open_multifiles(const std::vector<std::string>& paths, const MountWords& words);

}  // namespace sheaf::cli
