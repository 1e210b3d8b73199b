/* Locks and spawned programs: properties of an open file shared by several processes. */
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/file.h>

#include "cases.h"

extern char** environ;

static atomic_int over;

/* A list of spawn actions must open files in the child, in order with the other actions. */
static void opened_by_actions(void) {
  file_with("cap.in", "what is read");
  mkdir("below", 0755);
  posix_spawn_file_actions_t actions;
  CALL(posix_spawn_file_actions_init(&actions));
  CALL(posix_spawn_file_actions_addopen(&actions, 0, "cap.in", O_RDONLY, 0));
  CALL(posix_spawn_file_actions_addopen(&actions, 1, "cap.out", O_WRONLY | O_CREAT | O_APPEND, 0640));
  CALL(posix_spawn_file_actions_adddup2(&actions, 1, 2));
  CALL(posix_spawn_file_actions_addchdir_np(&actions, "below"));
  CALL(posix_spawn_file_actions_addopen(&actions, 7, "../cap.seven", O_WRONLY | O_CREAT | O_TRUNC, 0600));
  char* const words[] = {"sh", "-c", "cat; echo and an error >&2; echo seven >&7; pwd | grep -c below", NULL};
  for (int i = 0; i < 2; ++i) {
    pid_t child = 0;
    CALL(posix_spawn(&child, "/bin/sh", &actions, NULL, words, environ));
    VALUE(ended(child));
  }
  show_status("cap.out");
  show("cap.out");
  show("cap.seven");
  CALL(unlink("cap.in"));
  pid_t none = 0;
  VALUE(posix_spawn(&none, "/bin/sh", &actions, NULL, words, environ));
  CALL(posix_spawn_file_actions_destroy(&actions));
  CALL(posix_spawn_file_actions_init(&actions));
  CALL(posix_spawn_file_actions_addclosefrom_np(&actions, 3));
  CALL(posix_spawn_file_actions_addopen(&actions, 1, "plain", O_WRONLY | O_CREAT, 0644));
  char* const echo[] = {"echo", "plain", NULL};
  pid_t child = 0;
  CALL(posix_spawn(&child, "/bin/echo", &actions, NULL, echo, environ));
  VALUE(ended(child));
  CALL(posix_spawn_file_actions_destroy(&actions));
  show("plain");
  CALL(unlink("plain"));
  CALL(unlink("cap.out"));
  CALL(unlink("cap.seven"));
  CALL(rmdir("below"));
}

/* A lock of flock(2) must belong to the open file, even if a started program shares it. */
static void locked_for_the_shell(void) {
  fflush(stdout);
  CALL(system(
      "exec 9>cap.held; flock 9; flock -n cap.held true; echo $?; flock -u 9; flock -n cap.held echo free"));
  CALL(
      system("bash -c '(flock -x 8; sleep 0.3; echo first >&8) 8>>cap.turns & sleep 0.1; "
             "(flock -s 8; echo second >&8) 8>>cap.turns; wait'"));
  show("cap.turns");
  const int fd = file_with("cap.f", "x");
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) _exit(flock(fd, LOCK_EX) + 10);
  VALUE(WEXITSTATUS(ended(child)));
  const int other = open("cap.f", O_RDONLY);
  CALL(flock(other, LOCK_SH | LOCK_NB));
  CALL(flock(fd, LOCK_SH | LOCK_NB));
  CALL(flock(other, LOCK_SH | LOCK_NB));
  CALL(flock(fd, LOCK_EX | LOCK_NB));
  CALL(flock(other, LOCK_EX | LOCK_NB));
  CALL(flock(fd, LOCK_SH | LOCK_NB));
  CALL(flock(fd, 77));
  CALL(close(other));
  CALL(flock(fd, LOCK_EX | LOCK_NB));
  CALL(close(fd));
  CALL(unlink("cap.held"));
  CALL(unlink("cap.turns"));
  CALL(unlink("cap.f"));
}

static void* wait_for_lock(void* fd) { return (void*)(long)flock(*(int*)fd, LOCK_EX); }

/* A thread that waits for a lock must not be cancelled while it waits. It must get the lock as soon as
 * another owner of the open file has it. */
static void waits_for_locks(void) {
  fflush(stdout);
  const pid_t all = fork(); /* the alarm ends an endless wait */
  if (all == 0) {
    alarm(20);
    int held = file_with("cap.f", "x"), fd = open("cap.f", O_RDWR);
    flock(held, LOCK_EX);
    pthread_t thread;
    pthread_create(&thread, NULL, wait_for_lock, &fd);
    usleep(50000);
    pthread_cancel(thread);
    usleep(50000);
    flock(held, LOCK_UN);
    void* result = NULL;
    pthread_join(thread, &result);
    const int cancelled = result == PTHREAD_CANCELED;
    flock(fd, LOCK_UN);
    flock(held, LOCK_EX);
    pid_t children[2];
    for (int i = 0; i < 2; ++i) {
      children[i] = fork();
      if (children[i] == 0) _exit(flock(fd, LOCK_EX) != 0);
    }
    usleep(50000);
    flock(held, LOCK_UN);
    const int codes = ended(children[0]) + ended(children[1]);
    _exit(cancelled + 2 * (codes != 0) + 4 * (flock(held, LOCK_EX | LOCK_NB) != -1));
  }
  VALUE(ended(all));
  CALL(unlink("cap.f"));
}

static void* spawn_reader(void* none) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "fifo", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "cap.read", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  char* const words[] = {"cat", NULL};
  pid_t child = 0;
  posix_spawn(&child, "/bin/cat", &actions, NULL, words, environ);
  posix_spawn_file_actions_destroy(&actions);
  ended(child);
  return none;
}

/* Spawns in threads must not wait for each other. Descriptors that a list closes first must not block
 * those that it opens. */
static void spawns_of_threads(void) {
  fflush(stdout);
  mkfifo("fifo", 0600);
  const pid_t all = fork();
  if (all == 0) {
    alarm(20);
    pthread_t thread;
    pthread_create(&thread, NULL, spawn_reader, NULL);
    usleep(50000);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    for (int fd = 3; fd < 3000; ++fd) posix_spawn_file_actions_addclose(&actions, fd);
    posix_spawn_file_actions_addopen(&actions, 1, "fifo", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "cap.errors", O_WRONLY | O_CREAT, 0644);
    char* const words[] = {"sh", "-c", "echo through; echo told >&2", NULL};
    pid_t child = 0;
    const int error = posix_spawn(&child, "/bin/sh", &actions, NULL, words, environ);
    ended(child);
    pthread_join(thread, NULL);
    _exit(error);
  }
  VALUE(ended(all));
  show("cap.read");
  show("cap.errors");
  CALL(unlink("fifo"));
  CALL(unlink("cap.read"));
  CALL(unlink("cap.errors"));
}

static void* open_write_close(void* number) {
  char name[20];
  snprintf(name, sizeof name, "cap.w%ld", (long)number);
  long wrong = 0;
  while (!atomic_load(&over)) {
    const int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    struct stat status = {0};
    usleep(3000);
    wrong += write(fd, "12345678", 8) != 8;
    wrong += write(fd, "12345678", 8) != 8;
    wrong += fstat(fd, &status) != 0 || status.st_size != 16;
    wrong += close(fd) != 0;
  }
  return (void*)wrong;
}

static void* open_and_close(void* none) {
  while (!atomic_load(&over)) close(open("cap.other", O_RDONLY));
  return none;
}

/* Files that threads open during a fork must stay theirs, whatever the child does. */
static void opens_beside_forks(void) {
  fflush(stdout);
  close(file_with("cap.other", "other"));
  const pid_t all = fork();
  if (all == 0) {
    alarm(60);
    pthread_t threads[10];
    atomic_store(&over, 0);
    for (long i = 0; i < 10; ++i)
      pthread_create(&threads[i], NULL, i < 8 ? open_write_close : open_and_close, i < 8 ? (void*)i : NULL);
    for (int i = 0; i < 600; ++i) {
      const pid_t child = fork();
      if (child == 0) _exit(0);
      ended(child);
    }
    atomic_store(&over, 1);
    long wrong = 0;
    for (int i = 0; i < 10; ++i) {
      void* result = NULL;
      pthread_join(threads[i], &result);
      wrong += (long)result;
    }
    _exit(wrong != 0);
  }
  VALUE(ended(all));
  CALL(system("rm cap.w? cap.other"));
}

/* Locks any number of files. */
static void locks_many(void) {
  enum { files = 100 };
  int fds[files];
  int locked = 0;
  char name[32];
  struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  for (int i = 0; i < files; ++i) {
    snprintf(name, sizeof name, "cap.many.%d", i);
    fds[i] = file_with(name, "text");
    locked += fcntl(fds[i], F_SETLK, &all) == 0;
  }
  VALUE(locked);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    int refused = 0;
    for (int i = 0; i < files; ++i) refused += fcntl(fds[i], F_SETLK, &all) != 0 && errno == EAGAIN;
    _exit(refused);
  }
  VALUE(WEXITSTATUS(ended(child)));
  for (int i = 0; i < files; ++i) close(fds[i]);
  CALL(system("rm cap.many.*"));
}

/* A lock must survive exec, unless the exec closes the file. */
static void locks_over_exec(void) {
  const int fd = file_with("cap.e", "text");
  struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  for (int closes = 0; closes <= 1; ++closes) {
    int ready[2], ends[2];
    if (pipe2(ready, O_CLOEXEC) != 0 || pipe(ends) != 0) return;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      fcntl(fd, F_SETLK, &all);
      fcntl(fd, F_SETFD, closes ? FD_CLOEXEC : 0);
      dup2(ends[0], 0);
      close(ends[1]);
      execl("/bin/cat", "cat", NULL);
      _exit(1);
    }
    close(ready[1]);
    close(ends[0]);
    char end;
    CALL(read(ready[0], &end, 1));
    CALL(fcntl(fd, F_SETLK, &all));
    struct flock found = all;
    CALL(fcntl(fd, F_GETLK, &found));
    VALUE(found.l_type == F_WRLCK && found.l_pid == child);
    close(ends[1]);
    VALUE(ended(child));
    CALL(fcntl(fd, F_SETLK, &all));
    all.l_type = F_UNLCK;
    CALL(fcntl(fd, F_SETLK, &all));
    all.l_type = F_WRLCK;
    close(ready[0]);
  }
  CALL(close(fd));
  CALL(unlink("cap.e"));
}

static void* open_and_close_many(void* name) {
  while (!atomic_load(&over)) close(open(name, O_RDONLY));
  return NULL;
}

/* Closing any descriptor of a file releases its locks. No call may fail because of that. */
static void locks_beside_closes(void) {
  const int fd = file_with("cap.l", "text");
  pthread_t thread;
  long failed = 0;
  atomic_store(&over, 0);
  pthread_create(&thread, NULL, open_and_close_many, "cap.l");
  struct flock all = {.l_whence = SEEK_SET};
  for (int i = 0; i < 20000; ++i) {
    all.l_type = i % 2 ? F_UNLCK : F_WRLCK;
    failed += fcntl(fd, F_SETLK, &all) != 0;
  }
  atomic_store(&over, 1);
  pthread_join(thread, NULL);
  VALUE(failed);
  CALL(close(fd));
  CALL(unlink("cap.l"));
}

void cases_sharing(void) {
  locks_beside_closes();
  locks_over_exec();
  locks_many();
  opened_by_actions();
  locked_for_the_shell();
  waits_for_locks();
  spawns_of_threads();
  opens_beside_forks();
}
