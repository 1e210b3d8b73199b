// streams/preload/entries/spawn_actions: file actions of posix_spawn that open captured files. The child of
// posix_spawn executes no code of this library, so the parent opens files with possibly captured names just
// before the spawn. When such an open action is added, the library reserves a descriptor in the parent, and
// adds an action dup2 of that descriptor to the list instead. The spawn puts the opened file on the reserved
// descriptor.
#pragma once

#include <limits.h>
#include <spawn.h>

#include <vector>

#include "base/non_copyable.hpp"

namespace sheaf::preload {

struct SpawnAction;

// Opens the files of a list of actions for the duration of one spawn. A second spawn with the same list waits
// until the first has ended. Must not be used within an Inside (streams/preload/inside.hpp).
class SpawnOpens : private NonCopyable {
 public:
  explicit SpawnOpens(const posix_spawn_file_actions_t* actions) noexcept;
  ~SpawnOpens();
  // Returns 0, or the errno of an open that failed; the spawn must then fail with this errno.
  int error() const { return error_; }

 private:
  std::vector<SpawnAction*> actions_;
  int error_ = 0;
};

// Stores in `whole` the path that the child uses for `path`, after the directory changes in the list. Returns
// false if that path is too long.
bool as_spawned(const posix_spawn_file_actions_t* list, const char* path, char (&whole)[PATH_MAX]);

}  // namespace sheaf::preload
