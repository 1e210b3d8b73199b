// cli/mount: `sheaf mount` and `sheaf umount`. Both return the exit code.
#pragma once

#include <string>
#include <vector>

namespace sheaf::cli {

struct MountOptions {
  std::vector<std::string> paths;  // of the multifiles, then the directory
  bool write = false;
  bool foreground = false;
  bool allow_other = false;
  bool ignore_checksums = false;
};
// Becomes the program sheaf-mount, which is there where Sheaf was built with libfuse; throws unsupported
// where it is not.
int mount(const MountOptions& options);

struct UmountOptions {
  std::vector<std::string> directories;
  bool lazy = false;
};
// Returns when the programs behind the mounts have ended. Throws for a directory where nothing of ours is
// mounted.
int umount(const UmountOptions& options);

}  // namespace sheaf::cli
