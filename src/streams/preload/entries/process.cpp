// streams/preload/entries/process: the entry points that start and end processes. They add the variables for
// capturing to the environment of each new program, even if the caller has passed another environment. The
// new program finds its inherited files by itself (streams/preload/state.hpp).
#include <alloca.h>
#include <dlfcn.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

#include "base/os/static_program.hpp"
#include "streams/capture/capture_rule.hpp"
#include "streams/capture/shared_names.hpp"
#include "streams/preload/descriptors.hpp"
#include "streams/preload/entries/captured_name.hpp"
#include "streams/preload/entries/captured_program.hpp"
#include "streams/preload/entries/spawn_actions.hpp"
#include "streams/preload/files.hpp"
#include "streams/preload/locks.hpp"
#include "streams/preload/names/rules.hpp"
#include "streams/preload/real.hpp"
#include "streams/preload/stdio/standard_streams.hpp"
#include "streams/preload/stdio/streams.hpp"
#include "streams/preload/stdio/telling.hpp"

namespace sheaf::preload {

namespace {

namespace next {
constinit Real<int(const char*, char* const*, char* const*)> execve{"execve"}, execvpe{"execvpe"};
constinit Real<int(int, char* const*, char* const*)> fexecve{"fexecve"};
using Spawn = int(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,
                  char* const*, char* const*);
constinit Real<Spawn> posix_spawn{"posix_spawn"}, posix_spawnp{"posix_spawnp"};
constinit Real<void(int)> _exit{"_exit"};
}  // namespace next

constexpr char held[] = "SHEAF_CAPTURE_HELD=";  // process that already holds its slots

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

// Memory for the variables that complete() adds. It is on the stack of the caller, because a child of
// vfork(2) must not change other memory of its parent.
struct AddedVariables {
  char preload[2 * PATH_MAX];
  char holder[sizeof held + 12];
};

// Copies `given` into `result`, which has room for five more entries, and adds the variables for capturing.
void complete(char* const* given, char** result, AddedVariables& room, bool same_process) {
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

// Prepares the descriptors before exec replaces this process, or before another process inherits them.
void hand_on_descriptors(bool same_process) {
  const Inside inside;
  if (same_process && !borrows_memory()) flush_written(), keep_process_locks();
  lock_slots();
}

// Reports, once per job and host, that the program cannot be captured.
void tell_if_static(const char* program, const char* name) {
  const Inside inside;
  if (!program || !is_static_program(program) || !streams::first_of_job(rules_identity(), "static")) return;
  tell("sheaf: '%s' is linked statically or has rights of its own: its files are not captured\n", name);
}

// Defines the environment for a new program. A macro, because the memory must be on the stack of the caller.
#define SHEAF_ENVIRONMENT(given, same_process)                                         \
  AddedVariables room;                                                                 \
  auto** const with = static_cast<char**>(alloca((count(given) + 5) * sizeof(char*))); \
  const bool same = (same_process) && !borrows_memory();                               \
  hand_on_descriptors(same);                                                           \
  complete(given, with, room, same)

constexpr int max_interpreters = 5;  // nesting of interpreters, as in Linux

int execute(const char* path, char* const* words, char* const* environment, bool search, int depth = 0);

// Defines `more`, the arguments for the interpreter of a script, on the stack of the caller.
#define SHEAF_WORDS_OF(script, path, words)                                                        \
  auto** const more_words = static_cast<const char**>(alloca((count(words) + 4) * sizeof(char*))); \
  (script).put_words(path, words, more_words);                                                     \
  auto* const more = const_cast<char* const*>(more_words)

int interpret(const Script& script, const char* path, char* const* words, char* const* environment,
              int depth) {
  if (depth == max_interpreters) return failed(ELOOP);
  SHEAF_WORDS_OF(script, path, words);
  return execute(script.interpreter(), more, environment, false, depth + 1);
}

// Executes a prepared program, or the interpreter of a script. Returns -1 with errno on failure. With
// `search`, a file of unknown format is run by the shell, as in execvp(3).
int start(const CapturedProgram& program, const char* path, char* const* words, char* const* environment,
          bool search, int depth) {
  if (program.script().interpreter()) return interpret(program.script(), path, words, environment, depth);
  tell_if_static(program.path(), path);
  SHEAF_ENVIRONMENT(environment, true);
  const int result = next::execve(program.path(), words, with);
  if (!search || errno != ENOEXEC) return result;
  SHEAF_WORDS_OF(Script("/bin/sh"), path, words);
  return next::execve(more[0], more, with);
}

int execute(const char* path, char* const* words, char* const* environment, bool search, int depth) {
  const auto& call = search ? next::execvpe : next::execve;
  if (!captures()) return call(path, words, environment);
  const bool named = !search || (path && strchr(path, '/'));
  const CapturedProgram program(AT_FDCWD, named ? path : nullptr);
  if (program.error() == 0 || (search && program.error() == ENOEXEC))
    return start(program, path, words, environment, search, depth);
  if (program.error() != hand_on) return failed(program.error());
  tell_if_static(path, path);
  SHEAF_ENVIRONMENT(environment, true);
  const int result = explained(AT_FDCWD, named ? path : nullptr, call(path, words, with));
  Script script;
  return errno == ENOENT && named && has_captured_interpreter(path, script)
             ? interpret(script, path, words, environment, depth)
             : result;
}

// Executes a program that was named by a descriptor. `kept` is a descriptor that the interpreter of a script
// needs to open the script: that of the program itself, or that of its directory.
int start_open(const CapturedProgram& program, const char* path, int kept, char* const* words,
               char* const* environment) {
  const bool closed = kept >= 0 && (real::fcntl(kept, F_GETFD, 0) & FD_CLOEXEC);
  return closed && program.script().interpreter() ? failed(ENOENT)
                                                  : start(program, path, words, environment, false, 0);
}

int execute_open(int fd, char* const* words, char* const* environment) {
  if (!captures()) return next::fexecve(fd, words, environment);
  const CapturedProgram program(fd);
  char name[40];
  snprintf(name, sizeof name, "/dev/fd/%d", fd);
  if (program.error() == 0) return start_open(program, name, fd, words, environment);
  if (program.error() != hand_on) return failed(program.error());
  SHEAF_ENVIRONMENT(environment, true);
  return next::fexecve(fd, words, with);
}

// The arguments of posix_spawn(3) or posix_spawnp(3).
struct SpawnRequest {
  bool search;  // posix_spawnp: look for `path` in the directories of PATH
  pid_t* child;
  const char* path;
  const posix_spawn_file_actions_t* actions;
  const posix_spawnattr_t* attributes;
  char* const* words;
  char* const* environment;

  // Calls the function of the C library.
  int by_library() const {
    const auto& call = search ? next::posix_spawnp : next::posix_spawn;
    return call(child, path, actions, attributes, words, environment);
  }
};

int spawn(const SpawnRequest& request, int depth = 0);

int interpret_there(const SpawnRequest& request, const Script& script, int depth) {
  if (depth == max_interpreters) return ELOOP;
  SpawnRequest started = request;
  SHEAF_WORDS_OF(script, request.path, request.words);
  started.search = false;
  started.path = script.interpreter();
  started.words = more;
  return spawn(started, depth + 1);
}

// Returns 0 or an error number. `depth`: the number of scripts whose interpreters are spawned.
int spawn(const SpawnRequest& request, int depth) {
  if (!captures()) return request.by_library();
  const char* const path = request.path;
  const bool named = !request.search || (path && strchr(path, '/'));
  char whole[PATH_MAX];
  const bool fits = named && path && as_spawned(request.actions, path, whole);
  const CapturedProgram program(AT_FDCWD, fits ? whole : nullptr);
  if (program.error() > 0) return program.error();
  if (program.error() == 0 && program.script().interpreter())
    return interpret_there(request, program.script(), depth);
  SpawnRequest started = request;
  if (program.error() == 0) started.path = program.path();
  tell_if_static(started.path, path);
  const SpawnOpens opened(request.actions);
  if (opened.error() != 0) return opened.error();
  SHEAF_ENVIRONMENT(request.environment, false);
  started.environment = with;
  const int error = started.by_library();
  if (error != ENOENT || !fits) return error;
  Script script;
  if (has_captured_interpreter(whole, script)) return interpret_there(request, script, depth);
  errno = error;
  explain(AT_FDCWD, whole);
  return errno;
}

}  // namespace

// Collects the variadic arguments from `first` up to a null pointer in an array on the stack.
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
  return execute_open(fd, words, environment);
}
SHEAF_REPLACED(int, execveat, int at, const char* path, char* const* words, char* const* environment,
               int flags) {
  constexpr int known = AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW;
  if (!captures() || (flags & ~known)) return next::execveat(at, path, words, environment, flags);
  if (is_captured_itself(at, path, flags)) return execute_open(at, words, environment);
  const CapturedProgram program(at, path);
  if (program.error() == 0) {
    char name[PATH_MAX];
    snprintf(name, sizeof name, "/dev/fd/%d/%s", at, path);
    const bool straight = path[0] == '/' || at == AT_FDCWD;
    return start_open(program, straight ? path : name, straight ? -1 : at, words, environment);
  }
  if (program.error() != hand_on) return failed(program.error());
  SHEAF_ENVIRONMENT(environment, true);
  return next::execveat(at, path, words, with, flags);
}
SHEAF_ENTRY(int, posix_spawn, pid_t* child, const char* path, const posix_spawn_file_actions_t* actions,
            const posix_spawnattr_t* attributes, char* const* words, char* const* environment) {
  return spawn({false, child, path, actions, attributes, words, environment});
}
SHEAF_ENTRY(int, posix_spawnp, pid_t* child, const char* path, const posix_spawn_file_actions_t* actions,
            const posix_spawnattr_t* attributes, char* const* words, char* const* environment) {
  return spawn({true, child, path, actions, attributes, words, environment});
}
SHEAF_REPLACED(FILE*, popen, const char* command, const char* mode) {
  if (captures()) hand_on_descriptors(false);
  return next::popen(command, mode);
}
SHEAF_REPLACED(int, system, const char* command) {
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
  // Uses the unwinder of this library once. If a thread is cancelled in a call, the C library unwinds it
  // through frames of this library. The unwinder can handle these frames only after its first use.
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

}  // namespace sheaf::preload
