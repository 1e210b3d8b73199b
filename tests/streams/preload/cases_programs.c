#include "cases.h"

#include <spawn.h>

extern char** environ;

static char argument[] = "an argument";

/* Prints the output of a program started in a child, and its exit status. */
#define STARTED(how, start)                      \
  do {                                           \
    fflush(stdout);                              \
    const pid_t child_ = how();                  \
    if (child_ == 0) {                           \
      start;                                     \
      _exit(100 + errno);                        \
    }                                            \
    printf("  %s: %d\n", #start, ended(child_)); \
  } while (0)

static void program_with(const char* name, const char* text) {
  close(file_with(name, text));
  CALL(chmod(name, 0755));
}

/* Starts a plain or a captured file in every possible way. */
static void starts(const char* name) {
  char* const words[] = {(char*)name, argument, NULL};
  char path[64];
  snprintf(path, sizeof path, "./%s", name);
  STARTED(fork, execl(path, "zero", argument, NULL));
  STARTED(fork, execv(name, words));
  STARTED(fork, execvp(path, words));
  STARTED(fork, execvp(name, words));
  STARTED(fork, execle(path, "zero", argument, NULL, environ));
  STARTED(vfork, execve(path, words, environ));
  STARTED(fork, execveat(AT_FDCWD, path, words, environ, 0));
  const int here = open(".", O_RDONLY | O_DIRECTORY);
  STARTED(fork, execveat(here, name, words, environ, 0));
  close(here);
  const int fd = open(name, O_RDONLY);
  STARTED(fork, fexecve(fd, words, environ));
  CALL(close(fd));
  fflush(stdout);
  for (int searched = 0; searched <= 1; ++searched) {
    pid_t child = 0;
    const int failed = (searched ? posix_spawnp : posix_spawn)(&child, path, NULL, NULL, words, environ);
    const int status = failed ? 0 : ended(child);
    VALUE(failed);
    VALUE(status);
  }
  pid_t none = 0;
  CALL(posix_spawnp(&none, name, NULL, NULL, words, environ));
}

static void spawned_elsewhere(const char* path) {
  char* const words[] = {(char*)path, argument, NULL};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, "sub");
  fflush(stdout);
  pid_t child = 0;
  const int failed = posix_spawn(&child, path, &actions, NULL, words, environ);
  const int status = failed ? 0 : ended(child);
  VALUE(failed);
  VALUE(status);
  posix_spawn_file_actions_destroy(&actions);
}

/* The kernel reads a limited part of a script's first line. */
static void long_lines(void) {
  char line[400] = "#!/bin/echo ";
  const size_t begin = strlen(line);
  for (size_t size = 250; size <= 260; size += 2) {
    memset(line + begin, 'x', size - begin);
    strcpy(line + size, "\n");
    program_with("cap.long", line);
    STARTED(fork, execl("./cap.long", "zero", argument, NULL));
    char* const slashes = strdup(line);
    memset(slashes + 2, '/', size - 2);
    program_with("cap.long", slashes);
    free(slashes);
    STARTED(fork, execl("./cap.long", "zero", argument, NULL));
  }
}

void cases_programs(void) {
  program_with("cap.script", "#!/bin/sh -u\necho \"$0: $1\"; exit 3\n");
  starts("cap.script");
  CALL(system("./cap.script 'of a shell'"));
  program_with("cap.plain", "echo \"$0: $1\"\n");
  starts("cap.plain");
  CALL(system("cp /bin/echo cap.echo"));
  starts("cap.echo");
  CALL(system("./cap.echo of a shell; env ./cap.echo of env"));
  program_with("cap.chain", "#!./cap.middle\n");
  program_with("cap.middle", "#!/bin/echo -n\n");
  CALL(system("./cap.chain 'of a chain'; echo"));
  program_with("cap.self", "#! ./cap.self\n");
  STARTED(fork, execl("cap.self", "zero", NULL));
  CALL(symlink("cap.script", "link"));
  STARTED(fork, execl("./link", "zero", argument, NULL));
  STARTED(vfork, execl("./link", "zero", argument, NULL));
  program_with("plain", "#!./cap.echo of plain\n");
  STARTED(fork, execl("./plain", "zero", argument, NULL));
  CALL(system("./plain of a shell; rm plain link"));
  CALL(mkdir("sub", 0755));
  program_with("sub/cap.inner", "#!/bin/sh\necho inner $0\n");
  spawned_elsewhere("./cap.inner");
  spawned_elsewhere("./cap.echo");
  CALL(system("rm -r sub"));
  const int itself = open("cap.echo", O_RDONLY);
  char name[40];
  snprintf(name, sizeof name, "/dev/fd/%d", itself);
  STARTED(fork, execl(name, "zero", argument, NULL));
  close(itself);
  long_lines();
  CALL(chmod("cap.echo", 0644));
  STARTED(fork, execl("cap.echo/x", "zero", NULL));
  STARTED(fork, execl("cap.echo", "zero", NULL));
  STARTED(vfork, execl("cap.echo", "zero", NULL));
  STARTED(fork, execl("cap.none", "zero", NULL));
  STARTED(fork, execl("cap.echo/", "zero", NULL));
  CALL(system("rm cap.*"));
}
