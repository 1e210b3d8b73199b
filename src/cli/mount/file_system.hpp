// cli/mount: the program sheaf-mount, which shows multifiles as directories with FUSE (libfuse 3, low-level
// interface). `sheaf mount` starts it, so that nothing else of Sheaf needs libfuse.
//
// file_system: the requests of the kernel answered from a mount::Tree, and from a mount::LiveSet where
// streams are written. What a tree shows does not change, so the kernel may keep its names, attributes and
// bytes for as long as it likes. Requests come from several threads.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <string>
#include <vector>

#include "cli/mount/front.hpp"
#include "mount/live_set.hpp"
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

// As that file is, but that nobody may write. Throws what stat(2) fails with.
Look look_of(const std::string& path);

struct FileSystem {
  mount::Tree tree;
  std::vector<Look> looks;               // of the tree's multifiles
  std::unique_ptr<mount::LiveSet> live;  // where streams can be written: at the root, beside the tree's
  Look live_look;                        // of what is in there, and of a root without the tree's
  std::string beside;                    // a file on the file system whose room it takes
  bool foreground = false;               // problems are told on stderr
  bool for_all = false;                  // users
  std::unique_ptr<Front> front;          // where there is one
};

// The answers, for a session whose userdata is a FileSystem; `writable`: with those that change a live set.
fuse_lowlevel_ops operations(bool writable);

}  // namespace sheaf::cli
