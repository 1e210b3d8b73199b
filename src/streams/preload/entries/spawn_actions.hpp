// streams/preload/entries/spawn_actions: files that posix_spawn file actions open in the child. The child
// runs in the memory of its parent and executes no code of this library. The parent therefore opens files
// with possibly captured names at the time of the spawn. It uses a descriptor that was reserved when the
// action was added; the list holds a dup2 action for that descriptor instead of the open.
#pragma once

#include <limits.h>
#include <spawn.h>

#include <vector>

namespace sheaf::posix {

struct Action;

// Opens the files of the list for the duration of one spawn. Must not be used within an Inside
// (streams/preload/inside.hpp). Another spawn with the same list waits.
class SpawnOpens {
 public:
  explicit SpawnOpens(const posix_spawn_file_actions_t* actions) noexcept;
  SpawnOpens(const SpawnOpens&) = delete;
  SpawnOpens& operator=(const SpawnOpens&) = delete;
  ~SpawnOpens();
  // Returns 0, or the errno of the failed open, which is the result of the spawn.
  int error() const { return error_; }

 private:
  std::vector<Action*> actions_;
  int error_ = 0;
};

// Stores `path` as the child resolves it, after the directory changes in the list, in `whole`. Returns false
// if it is too long.
bool as_spawned(const posix_spawn_file_actions_t* list, const char* path, char (&whole)[PATH_MAX]);

}  // namespace sheaf::posix
