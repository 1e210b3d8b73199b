#include "api/posix/entries/spawn_actions.hpp"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cerrno>
#include <climits>

#include "api/posix/descriptors.hpp"
#include "api/posix/fork_mutex.hpp"
#include "api/posix/names/places.hpp"
#include "api/posix/opening.hpp"
#include "api/posix/own_descriptors.hpp"
#include "api/posix/real.hpp"

namespace sheaf::posix {

namespace {

namespace next {
using Actions = posix_spawn_file_actions_t;
constinit Real<int(Actions*)> init{"posix_spawn_file_actions_init"},
    destroy{"posix_spawn_file_actions_destroy"};
constinit Real<int(Actions*, int, const char*, int, mode_t)> addopen{"posix_spawn_file_actions_addopen"};
constinit Real<int(Actions*, const char*)> addchdir{"posix_spawn_file_actions_addchdir_np"};
constinit Real<int(Actions*, int)> addfchdir{"posix_spawn_file_actions_addfchdir_np"},
    addclosefrom{"posix_spawn_file_actions_addclosefrom_np"};
}  // namespace next

// One action of a list that is not the C library's alone, in the order in which they were added.
struct Action {
  const posix_spawn_file_actions_t* list;
  enum class Kind { opens, changes_directory, closes_all } kind;
  int kept;    // opens: the descriptor set aside, on /dev/null between spawns
  int opened;  // the file, during a spawn; -1
  int flags;
  mode_t mode;
  Action* next;
  char path[PATH_MAX];  // of the file, or the directory
};
constinit ForkMutex guard{Guards::spawns};
constinit Action* actions = nullptr;

int set_aside() { return own_descriptor(real::open("/dev/null", O_RDONLY | O_CLOEXEC, 0)); }

// Calls use(action) for those of a list.
template <class Use>
void each_of(const posix_spawn_file_actions_t* list, const Use& use) {
  for (Action* action = actions; action; action = action->next)
    if (action->list == list) use(*action);
}

void forget(const posix_spawn_file_actions_t* list) {
  const Inside inside;
  guard.lock();
  for (Action** at = &actions; Action* const action = *at;) {
    if (action->list != list) {
      at = &action->next;
      continue;
    }
    *at = action->next;
    if (action->kept >= 0) close_own_descriptor(action->kept);
    free(action);
  }
  guard.unlock();
}

// `path` as the child will see it, after the changes of directory that the list has so far. False: too long.
bool from_here(const posix_spawn_file_actions_t* list, const char* path, char (&whole)[PATH_MAX]) {
  char directory[PATH_MAX] = "";
  const Inside inside;
  guard.lock();
  each_of(list, [&](const Action& action) {
    if (action.kind == Action::Kind::changes_directory) strcpy(directory, action.path);
  });
  guard.unlock();
  const bool counts = path[0] != '/' && directory[0];
  return size_t(snprintf(whole, PATH_MAX, "%s%s%s", counts ? directory : "", counts ? "/" : "", path)) <
         PATH_MAX;
}

// 0 or an errno.
int append(const posix_spawn_file_actions_t* list, Action::Kind kind, const char* path, int kept = -1,
           int flags = 0, mode_t mode = 0) {
  const Inside inside;
  auto* const made = static_cast<Action*>(malloc(sizeof(Action)));
  if (!made) return ENOMEM;
  *made = {list, kind, kept, -1, flags, mode, nullptr, ""};
  snprintf(made->path, sizeof made->path, "%s", path);
  guard.lock();
  Action** at = &actions;
  while (*at) at = &(*at)->next;
  *at = made;
  guard.unlock();
  return 0;
}

bool closes_all(const posix_spawn_file_actions_t* list) {
  bool any = false;
  const Inside inside;
  guard.lock();
  each_of(list, [&](const Action& action) { any |= action.kind == Action::Kind::closes_all; });
  guard.unlock();
  return any;
}

bool watches() { return !is_inside() && !rules().empty() && !borrows_memory(); }

// What the list opens without us: a name that cannot be captured, or where what was set aside would be closed
// before the child comes to it.
bool is_plain(const posix_spawn_file_actions_t* list, const char* path) {
  Place place;
  return !find_place(AT_FDCWD, path, place) || closes_all(list);
}

int add_open(posix_spawn_file_actions_t* list, int fd, const char* path, int flags, mode_t mode) {
  char whole[PATH_MAX];
  if (!from_here(list, path, whole) || is_plain(list, whole))
    return next::addopen(list, fd, path, flags, mode);
  const Inside inside;
  const int kept = set_aside();
  if (kept < 0) return errno;
  int error = posix_spawn_file_actions_adddup2(list, kept, fd);
  if (error == 0) error = append(list, Action::Kind::opens, whole, kept, flags, mode);
  if (error != 0) close_own_descriptor(kept);
  return error;
}

int change_directory(posix_spawn_file_actions_t* list, const char* path) {
  char whole[PATH_MAX];
  if (!from_here(list, path, whole)) return ENAMETOOLONG;
  return append(list, Action::Kind::changes_directory, whole);
}

int open_for_spawn(Action& action) {
  action.opened = open_name(AT_FDCWD, action.path, action.flags | O_CLOEXEC, action.mode);
  if (action.opened < 0) return errno;
  return real::dup3(action.opened, action.kept, O_CLOEXEC) < 0 ? errno : 0;
}

// What this process has of it goes. Locks of the process stay: it was opened for the child.
void close_after_spawn(Action& action) {
  if (action.opened < 0) return;
  const Inside inside;
  if (const int nothing = real::open("/dev/null", O_RDONLY | O_CLOEXEC, 0); nothing >= 0) {
    real::dup3(nothing, action.kept, O_CLOEXEC);
    real::close(nothing);
  }
  let_go(exchange(action.opened, nullptr));
  real::close(action.opened);
  action.opened = -1;
}

}  // namespace

SpawnOpens::SpawnOpens(const posix_spawn_file_actions_t* list) noexcept : actions_(list) {
  if (!list || !watches()) return;
  guard.lock();
  holds_ = true;
  each_of(list, [&](Action& action) {
    if (action.kind == Action::Kind::opens && error_ == 0) error_ = open_for_spawn(action);
  });
}

SpawnOpens::~SpawnOpens() {
  if (!holds_) return;
  const int error = errno;
  each_of(actions_, close_after_spawn);
  guard.unlock();
  errno = error;
}

SHEAF_ENTRY(int, posix_spawn_file_actions_init, posix_spawn_file_actions_t* list) {
  if (watches()) forget(list);
  return next::init(list);
}
SHEAF_ENTRY(int, posix_spawn_file_actions_destroy, posix_spawn_file_actions_t* list) {
  if (watches()) forget(list);
  return next::destroy(list);
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
  char path[40];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  return error == 0 && watches() ? change_directory(list, path) : error;
}
SHEAF_ENTRY(int, posix_spawn_file_actions_addclosefrom_np, posix_spawn_file_actions_t* list, int fd) {
  const int error = next::addclosefrom(list, fd);
  return error == 0 && watches() ? append(list, Action::Kind::closes_all, "") : error;
}

}  // namespace sheaf::posix
