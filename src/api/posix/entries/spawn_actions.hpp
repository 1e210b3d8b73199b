// api/posix/entries/spawn_actions: files that a list of actions for posix_spawn opens in the child. The child
// has the memory of its parent and is none of our code, so a file whose name may be captured is opened by the
// parent, at the time of the spawn, on a descriptor that was set aside for it when the action was added; the
// list has a duplication of that in its place.
#pragma once

#include <limits.h>
#include <spawn.h>

#include <vector>

namespace sheaf::posix {

struct Action;

// What the list opens, for the time of one spawn; not inside. Another spawn from the same list waits.
class SpawnOpens {
 public:
  explicit SpawnOpens(const posix_spawn_file_actions_t* actions) noexcept;
  SpawnOpens(const SpawnOpens&) = delete;
  SpawnOpens& operator=(const SpawnOpens&) = delete;
  ~SpawnOpens();
  // 0, or the errno of the open that failed, which is the result of the spawn.
  int error() const { return error_; }

 private:
  std::vector<Action*> actions_;
  int error_ = 0;
};

// `path` as the child will see it, after the changes of directory in the list. False: too long.
bool as_spawned(const posix_spawn_file_actions_t* list, const char* path, char (&whole)[PATH_MAX]);

}  // namespace sheaf::posix
