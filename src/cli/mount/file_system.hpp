// cli/mount: the program sheaf-mount, which shows multifiles as directories with FUSE (libfuse 3, low-level
// interface). `sheaf mount` starts it as a separate program, so that the rest of Sheaf does not depend on
// libfuse.
//
// file_system: answers kernel requests from a mount::Tree and, for writable streams, from a mount::LiveSet.
// The content of a tree does not change, so the kernel may cache its names, attributes and bytes
// indefinitely. Requests arrive on several threads.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <string>
#include <vector>

#include "cli/mount/front.hpp"
#include "cli/mount/stream_readers.hpp"
#include "streams/mount/live_set.hpp"
#include "streams/mount/tree.hpp"

namespace sheaf::cli {

class StreamPrefetcher;

// Attributes of the files of a multifile in the mount.
struct MountAttributes {
  uid_t owner = 0;
  gid_t group = 0;
  mode_t file_mode = 0444;
  mode_t folder_mode = 0555;
  timespec changed{};
};

// Returns the attributes of the file `path`, without write permissions, for the files of its multifile.
// Throws the errors of stat(2).
MountAttributes look_of(const std::string& path);

struct MountedFileSystem {
  mount::Tree tree;
  std::vector<MountAttributes> looks;    // one per multifile of the tree
  std::unique_ptr<mount::LiveSet> live;  // writable streams at the root; null: read-only
  MountAttributes live_look;             // look of the live set, and of a root without a tree
  std::string beside;                    // path on the file system that stores new streams
  bool foreground = false;               // report problems on stderr
  bool for_all = false;                  // accessible to all users
  std::unique_ptr<Front> front;          // null: not used
  // Set if all requests are for streams of the tree with known sizes; null otherwise. Listings then include
  // all attributes.
  StreamPrefetcher* prefetcher = nullptr;
  // False if the kernel opens files, or folders, without a request. Their requests have no handle.
  bool opens_files = true;
  bool opens_folders = true;
  std::unique_ptr<StreamReaders> readers = std::make_unique<StreamReaders>();  // for files without a handle
};

// Returns the request handlers for a session with a MountedFileSystem as its userdata. With `writable`,
// includes the handlers that change a live set.
fuse_lowlevel_ops operations(bool writable);

}  // namespace sheaf::cli
