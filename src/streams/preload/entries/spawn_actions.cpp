#include "streams/preload/entries/spawn_actions.hpp"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <mutex>

#include "streams/preload/descriptors.hpp"
#include "streams/preload/fork_mutex.hpp"
#include "streams/preload/names/places.hpp"
#include "streams/preload/opening.hpp"
#include "streams/preload/own_descriptors.hpp"
#include "streams/preload/real.hpp"

namespace sheaf::preload {

// A file action handled by this library, in the order in which actions were added.
struct SpawnAction {
  const posix_spawn_file_actions_t* list;
  enum class FileActionKind { open, chdir, close } kind;
  int number;      // open: reserved descriptor, on /dev/null between spawns; close: highest closed one
  int opened;      // descriptor of the opened file during a spawn; else -1
  pid_t spawning;  // process in which a spawn uses it; 0 if none
  int flags;
  mode_t mode;
  SpawnAction* next;
  char path[PATH_MAX];  // path of the file or directory
};

namespace {

namespace next {
using Actions = posix_spawn_file_actions_t;
constinit Real<int(Actions*, int, const char*, int, mode_t)> addopen{"posix_spawn_file_actions_addopen"};
constinit Real<int(Actions*, const char*)> addchdir{"posix_spawn_file_actions_addchdir_np"};
constinit Real<int(Actions*, int)> addfchdir{"posix_spawn_file_actions_addfchdir_np"};
}  // namespace next

constinit ForkMutex lock{Guards::spawns};  // guards the list of all actions; held briefly
constinit SpawnAction* actions = nullptr;

// Calls use(action) for the actions of a list while holding the lock.
template <class Use>
void each_of(const posix_spawn_file_actions_t* list, const Use& use) {
  const Inside inside;
  const std::lock_guard guard(lock);
  for (SpawnAction* action = actions; action; action = action->next)
    if (action->list == list) use(*action);
}

void forget(const posix_spawn_file_actions_t* list) {
  const Inside inside;
  const std::lock_guard guard(lock);
  for (SpawnAction** at = &actions; SpawnAction* const action = *at;) {
    if (action->list != list) {
      at = &action->next;
      continue;
    }
    *at = action->next;
    if (action->kind == SpawnAction::FileActionKind::open) close_own_descriptor(action->number);
    free(action);
  }
}

}  // namespace

bool as_spawned(const posix_spawn_file_actions_t* list, const char* path, char (&whole)[PATH_MAX]) {
  char directory[PATH_MAX] = "";
  each_of(list, [&](const SpawnAction& action) {
    if (action.kind == SpawnAction::FileActionKind::chdir) strcpy(directory, action.path);
  });
  const bool counts = path[0] != '/' && directory[0];
  return size_t(snprintf(whole, PATH_MAX, "%s%s%s", counts ? directory : "", counts ? "/" : "", path)) <
         PATH_MAX;
}

namespace {

// Adds an action. Returns 0 or an errno.
int append(const posix_spawn_file_actions_t* list, SpawnAction::FileActionKind kind, const char* path,
           int number = -1, int flags = 0, mode_t mode = 0) {
  const Inside inside;
  auto* const made = static_cast<SpawnAction*>(malloc(sizeof(SpawnAction)));
  if (!made) return ENOMEM;
  *made = {list, kind, number, -1, 0, flags, mode, nullptr, ""};
  snprintf(made->path, sizeof made->path, "%s", path);
  const std::lock_guard guard(lock);
  SpawnAction** at = &actions;
  while (*at) at = &(*at)->next;
  *at = made;
  return 0;
}

// Returns the highest descriptor that the list closes so far; -1 if none.
int highest_closed(const posix_spawn_file_actions_t* list) {
  int highest = -1;
  each_of(list, [&](const SpawnAction& action) {
    if (action.kind == SpawnAction::FileActionKind::close) highest = std::max(highest, action.number);
  });
  return highest;
}

int note_closed(const posix_spawn_file_actions_t* list, int up_to) {
  bool noted = false;
  each_of(list, [&](SpawnAction& action) {
    if (action.kind != SpawnAction::FileActionKind::close) return;
    action.number = std::max(action.number, up_to);
    noted = true;
  });
  return noted ? 0 : append(list, SpawnAction::FileActionKind::close, "", up_to);
}

bool watches() { return !is_inside() && !rules().empty() && !borrows_memory(); }

int add_open(posix_spawn_file_actions_t* list, int fd, const char* path, int flags, mode_t mode) {
  char whole[PATH_MAX];
  Place place;
  if (!as_spawned(list, path, whole) || !find_place(AT_FDCWD, whole, place))
    return next::addopen(list, fd, path, flags, mode);
  const Inside inside;
  const int closed = highest_closed(list);
  const int kept = own_descriptor(real::open("/dev/null", O_RDONLY | O_CLOEXEC, 0), closed);
  if (kept < 0) return errno;
  if (kept <= closed) {  // the child would close the descriptor before the dup2
    close_own_descriptor(kept);
    return next::addopen(list, fd, path, flags, mode);
  }
  int error = posix_spawn_file_actions_adddup2(list, kept, fd);
  if (error == 0) error = append(list, SpawnAction::FileActionKind::open, whole, kept, flags, mode);
  if (error != 0) close_own_descriptor(kept);
  return error;
}

int change_directory(posix_spawn_file_actions_t* list, const char* path) {
  char whole[PATH_MAX];
  if (!as_spawned(list, path, whole)) return ENAMETOOLONG;
  return append(list, SpawnAction::FileActionKind::chdir, whole);
}

int open_for_spawn(SpawnAction& action) {
  action.opened = open_name(AT_FDCWD, action.path, action.flags | O_CLOEXEC, action.mode);
  if (action.opened < 0) return errno;
  return real::dup3(action.opened, action.number, O_CLOEXEC) < 0 ? errno : 0;
}

// Closes the file that was opened for the child. Keeps the process locks on that file, because the program
// itself has not closed a descriptor.
void close_after_spawn(SpawnAction& action) {
  const Inside inside;
  if (action.opened >= 0) {
    if (const int nothing = real::open("/dev/null", O_RDONLY | O_CLOEXEC, 0); nothing >= 0) {
      real::dup3(nothing, action.number, O_CLOEXEC);
      real::close(nothing);
    }
    let_go(exchange(action.opened, nullptr));
    real::close(action.opened);
  }
  action.opened = -1;
}

// Reserves the actions of the list for one spawn and stores them in `taken`. Returns false if another thread
// of this process uses the list.
bool take(const posix_spawn_file_actions_t* list, std::vector<SpawnAction*>& taken) {
  bool free = true;
  each_of(list, [&](SpawnAction& action) {
    if (action.kind != SpawnAction::FileActionKind::open) return;
    // Only the first action of a list is checked; its state is that of the whole list.
    free = free && (!taken.empty() || action.spawning != getpid());
    if (!free) return;
    action.spawning = getpid();
    taken.push_back(&action);
  });
  return free;
}

}  // namespace

SpawnOpens::SpawnOpens(const posix_spawn_file_actions_t* list) noexcept {
  if (!list || !watches()) return;
  while (!take(list, actions_)) sched_yield();
  for (SpawnAction* const action : actions_)
    if (error_ == 0) error_ = open_for_spawn(*action);
}

SpawnOpens::~SpawnOpens() {
  const KeptErrno kept;
  for (SpawnAction* const action : actions_) close_after_spawn(*action);
  const Inside inside;
  const std::lock_guard guard(lock);
  for (SpawnAction* const action : actions_) action->spawning = 0;
}

SHEAF_REPLACED(int, posix_spawn_file_actions_init, posix_spawn_file_actions_t* list) {
  if (watches()) forget(list);
  return next::posix_spawn_file_actions_init(list);
}
SHEAF_REPLACED(int, posix_spawn_file_actions_destroy, posix_spawn_file_actions_t* list) {
  if (watches()) forget(list);
  return next::posix_spawn_file_actions_destroy(list);
}
SHEAF_ENTRY(int, posix_spawn_file_actions_addopen, posix_spawn_file_actions_t* list, int fd, const char* path,
            int flags, mode_t mode) {
  return watches() ? add_open(list, fd, path, flags, mode) : next::addopen(list, fd, path, flags, mode);
}
SHEAF_ENTRY_AND(int, posix_spawn_file_actions_addchdir_np, posix_spawn_file_actions_addchdir,
                posix_spawn_file_actions_t* list, const char* path) {
  const int error = next::addchdir(list, path);
  return error == 0 && watches() ? change_directory(list, path) : error;
}
SHEAF_ENTRY_AND(int, posix_spawn_file_actions_addfchdir_np, posix_spawn_file_actions_addfchdir,
                posix_spawn_file_actions_t* list, int fd) {
  const int error = next::addfchdir(list, fd);
  return error == 0 && watches() ? change_directory(list, DescriptorPath(fd).text) : error;
}
SHEAF_REPLACED(int, posix_spawn_file_actions_addclose, posix_spawn_file_actions_t* list, int fd) {
  if (is_own_descriptor(fd)) return 0;  // the program has no such descriptor
  const int error = next::posix_spawn_file_actions_addclose(list, fd);
  return error == 0 && watches() ? note_closed(list, fd) : error;
}
SHEAF_REPLACED(int, posix_spawn_file_actions_addclosefrom_np, posix_spawn_file_actions_t* list, int fd) {
  const int error = next::posix_spawn_file_actions_addclosefrom_np(list, fd);
  return error == 0 && watches() ? note_closed(list, INT_MAX - 1) : error;
}

}  // namespace sheaf::preload
