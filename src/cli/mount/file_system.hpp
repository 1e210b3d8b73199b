// cli/mount: the program sheaf-mount, which shows multifiles as directories with FUSE (libfuse 3, low-level
// interface). `sheaf mount` starts it, so that nothing else of Sheaf needs libfuse.
//
// file_system: the requests of the kernel answered from a mount::Tree. What a mount shows does not change, so
// the kernel may keep names, attributes and bytes for as long as it likes. Requests come from several
// threads.
#pragma once

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>
#include <sys/stat.h>

#include <vector>

#include "mount/tree.hpp"

namespace sheaf::cli {

// Whose files those of a multifile are, their modes and times.
struct Look {
  uid_t owner = 0;
  gid_t group = 0;
  mode_t file_mode = 0444;
  mode_t folder_mode = 0555;
  timespec changed{};
};

// As physical file 0 is, but that nobody may write. Throws what stat(2) fails with.
Look look_of(const std::string& path);

struct FileSystem {
  mount::Tree tree;
  std::vector<Look> looks;  // of the multifiles
  bool foreground = false;  // problems are told on stderr
};

// The answers, for a session whose userdata is a FileSystem.
const fuse_lowlevel_ops& operations();

}  // namespace sheaf::cli
