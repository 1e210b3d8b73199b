// api/posix/entries/process: the begin and the end of processes. Programs that a captured one starts are
// captured as well, also where they are given another environment; what they inherit they find by themselves
// (api/posix/state.hpp).
#include <alloca.h>
#include <dlfcn.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

#include "api/posix/descriptors.hpp"
#include "api/posix/entries/spawn_actions.hpp"
#include "api/posix/files.hpp"
#include "api/posix/names/rules.hpp"
#include "api/posix/real.hpp"
#include "api/posix/stdio/standard_streams.hpp"
#include "api/posix/stdio/streams.hpp"
#include "api/posix/stdio/telling.hpp"
#include "capture/capture_rule.hpp"
#include "capture/shared_names.hpp"

namespace sheaf::posix {

namespace {

namespace next {
constinit Real<int(const char*, char* const*, char* const*)> execve{"execve"}, execvpe{"execvpe"};
constinit Real<int(int, char* const*, char* const*)> fexecve{"fexecve"};
constinit Real<int(int, const char*, char* const*, char* const*, int)> execveat{"execveat"};
using Spawn = int(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,
                  char* const*, char* const*);
constinit Real<Spawn> posix_spawn{"posix_spawn"}, posix_spawnp{"posix_spawnp"};
constinit Real<FILE*(const char*, const char*)> popen{"popen"};
constinit Real<int(const char*)> system{"system"};
constinit Real<void(int)> _exit{"_exit"};
}  // namespace next

constexpr char held[] = "SHEAF_CAPTURE_HELD=";  // the process that counts as a holder of what it inherits

char own_library[PATH_MAX];

bool names(const char* entry, const char* variable) {
  const size_t n = size_t(strchr(variable, '=') - variable) + 1;
  return strncmp(entry, variable, n) == 0;
}

size_t count(char* const* list) {
  size_t n = 0;
  while (list && list[n]) ++n;
  return n;
}

// An environment on the stack of the caller, who may be a child of vfork(2) and has no other memory.
struct Room {
  char preload[2 * PATH_MAX];
  char holder[sizeof held + 12];
};

// Copies `given` into `result`, which has room for five more, with what captures.
void complete(char* const* given, char** result, Room& room, bool same_process) {
  size_t n = 0;
  snprintf(room.preload, sizeof room.preload, "LD_PRELOAD=%s", own_library);
  for (; given && *given; ++given) {
    if (names(*given, held) || names(*given, "SHEAF_CAPTURE=") || names(*given, "SHEAF_VIEW=")) continue;
    if (!names(*given, "LD_PRELOAD=")) {
      result[n++] = *given;
    } else if (strstr(*given, own_library)) {
      snprintf(room.preload, sizeof room.preload, "%s", *given);
    } else {
      snprintf(room.preload, sizeof room.preload, "LD_PRELOAD=%s:%s", own_library,
               *given + strlen("LD_PRELOAD="));
    }
  }
  result[n++] = room.preload;
  for (const bool view : {false, true})
    if (const char* const variable = capture_variable(view)) result[n++] = const_cast<char*>(variable);
  if (same_process) {
    snprintf(room.holder, sizeof room.holder, "%s%d", held, int(getpid()));
    result[n++] = room.holder;
  }
  result[n] = nullptr;
}

bool captures() { return !is_inside() && !rules().empty() && own_library[0]; }

// Before the memory of this process goes, or others hold what it has open.
void hand_on_descriptors(bool same_process) {
  const Inside inside;
  if (same_process && !borrows_memory()) flush_written();
  lock_slots();
}

// Once for a job on this host: a program whose files nothing here can capture is started.
void tell_if_static(const char* program) {
  const Inside inside;
  if (!program || !is_static_program(program) || !first_of_job(rules_identity())) return;
  tell("sheaf: '%s' is linked statically or has rights of its own: its files are not captured\n", program);
}

// Not a function: the memory is that of the caller.
#define SHEAF_ENVIRONMENT(given, same_process)                                         \
  Room room;                                                                           \
  auto** const with = static_cast<char**>(alloca((count(given) + 5) * sizeof(char*))); \
  const bool same = (same_process) && !borrows_memory();                               \
  hand_on_descriptors(same);                                                           \
  complete(given, with, room, same)

int execute(const char* path, char* const* words, char* const* environment, bool search) {
  const auto& call = search ? next::execvpe : next::execve;
  if (!captures()) return call(path, words, environment);
  tell_if_static(path);
  SHEAF_ENVIRONMENT(environment, true);
  return call(path, words, with);
}

int spawn(const Real<next::Spawn>& call, pid_t* child, const char* path,
          const posix_spawn_file_actions_t* actions, const posix_spawnattr_t* attributes, char* const* words,
          char* const* environment) {
  if (!captures()) return call(child, path, actions, attributes, words, environment);
  tell_if_static(path);
  const SpawnOpens opened(actions);
  if (opened.error() != 0) return opened.error();
  SHEAF_ENVIRONMENT(environment, false);
  return call(child, path, actions, attributes, words, with);
}

}  // namespace

// The words behind `first` up to a null, on the stack.
#define SHEAF_WORDS(first)                                                   \
  va_list rest, copy;                                                        \
  va_start(rest, first);                                                     \
  va_copy(copy, rest);                                                       \
  size_t n = 1;                                                              \
  while (va_arg(copy, char*)) ++n;                                           \
  va_end(copy);                                                              \
  auto** const words = static_cast<char**>(alloca((n + 1) * sizeof(char*))); \
  words[0] = const_cast<char*>(first);                                       \
  for (size_t i = 1; i <= n; ++i) words[i] = va_arg(rest, char*)

SHEAF_ENTRY(int, execve, const char* path, char* const* words, char* const* environment) {
  return execute(path, words, environment, false);
}
SHEAF_ENTRY(int, execv, const char* path, char* const* words) { return execute(path, words, environ, false); }
SHEAF_ENTRY(int, execvp, const char* path, char* const* words) { return execute(path, words, environ, true); }
SHEAF_ENTRY(int, execvpe, const char* path, char* const* words, char* const* environment) {
  return execute(path, words, environment, true);
}
SHEAF_ENTRY(int, execl, const char* path, const char* first, ...) {
  SHEAF_WORDS(first);
  va_end(rest);
  return execute(path, words, environ, false);
}
SHEAF_ENTRY(int, execlp, const char* path, const char* first, ...) {
  SHEAF_WORDS(first);
  va_end(rest);
  return execute(path, words, environ, true);
}
SHEAF_ENTRY(int, execle, const char* path, const char* first, ...) {
  SHEAF_WORDS(first);
  char** const environment = va_arg(rest, char**);
  va_end(rest);
  return execute(path, words, environment, false);
}
SHEAF_ENTRY(int, fexecve, int fd, char* const* words, char* const* environment) {
  if (!captures()) return next::fexecve(fd, words, environment);
  SHEAF_ENVIRONMENT(environment, true);
  return next::fexecve(fd, words, with);
}
SHEAF_ENTRY(int, execveat, int at, const char* path, char* const* words, char* const* environment,
            int flags) {
  if (!captures()) return next::execveat(at, path, words, environment, flags);
  SHEAF_ENVIRONMENT(environment, true);
  return next::execveat(at, path, words, with, flags);
}
SHEAF_ENTRY(int, posix_spawn, pid_t* child, const char* path, const posix_spawn_file_actions_t* actions,
            const posix_spawnattr_t* attributes, char* const* words, char* const* environment) {
  return spawn(next::posix_spawn, child, path, actions, attributes, words, environment);
}
SHEAF_ENTRY(int, posix_spawnp, pid_t* child, const char* path, const posix_spawn_file_actions_t* actions,
            const posix_spawnattr_t* attributes, char* const* words, char* const* environment) {
  return spawn(next::posix_spawnp, child, path, actions, attributes, words, environment);
}
SHEAF_ENTRY(FILE*, popen, const char* command, const char* mode) {
  if (captures()) hand_on_descriptors(false);
  return next::popen(command, mode);
}
SHEAF_ENTRY(int, system, const char* command) {
  if (captures()) hand_on_descriptors(false);
  return next::system(command);
}

namespace {

[[noreturn]] void leave(int code) {
  if (captures() && !borrows_memory()) end_of_process();
  next::_exit(code);
  __builtin_unreachable();
}

__attribute__((constructor)) void begin(int, char**, char** environment) {
  read_rules(environment);
  if (rules().empty()) return;
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&captures), &info) && info.dli_fname &&
      strlen(info.dli_fname) < sizeof own_library)
    strcpy(own_library, info.dli_fname);
  watch_forks();
  // A thread that is cancelled in a call is unwound by the C library through our frames, which the unwinder
  // linked in here understands once it has been used.
  _Unwind_Backtrace([](_Unwind_Context*, void*) { return _URC_END_OF_STACK; }, nullptr);
  bool counted = false;
  for (char** one = environment; one && *one; ++one)
    if (names(*one, held)) counted = atoi(*one + strlen(held)) == getpid();
  {
    const Inside inside;
    adopt_inherited(counted);
  }
  for (int fd = 0; fd <= 2; ++fd)
    if (is_captured(fd)) show_standard_stream(fd);
}

__attribute__((destructor)) void end() {
  if (!captures() || borrows_memory()) return;
  fflush(nullptr);
  give_back_unread();
  end_of_process();
}

}  // namespace

SHEAF_ENTRY_AND(void, _exit, _Exit, int code) { leave(code); }

}  // namespace sheaf::posix
