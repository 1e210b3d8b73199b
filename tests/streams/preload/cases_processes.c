#include "cases.h"

#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/time.h>

extern char** environ;

static atomic_int over;

static void forks(void) {
  const int fd = file_with("cap.k", "parent ");
  const pid_t child = fork();
  if (child == 0) {
    const int wrote = (int)write(fd, "child ", 6);
    close(fd);
    close(file_with("cap.of-child", "made by the child"));
    _exit(wrote);
  }
  VALUE(WEXITSTATUS(ended(child)));
  CALL(lseek(fd, 0, SEEK_CUR));
  CALL(write(fd, "again", 5));
  show("cap.k");
  show("cap.of-child");
  CALL(close(fd));
  CALL(unlink("cap.k"));
  CALL(unlink("cap.of-child"));
}

static void shells(void) {
  CALL(system("echo first > cap.sh; echo second >> cap.sh; printf third | cat >> cap.sh"));
  show("cap.sh");
  CALL(system("wc -c < cap.sh > cap.count; ls cap.* | cat > list; sort -r cap.sh > cap.sorted"));
  show("cap.count");
  show("list");
  show("cap.sorted");
  CALL(
      system("cp cap.sh cap.copy && cmp cap.sh cap.copy && mv cap.copy cap.moved && test -s cap.moved && "
             "test ! -e cap.copy"));
  CALL(system(
      "cat cap.moved cap.sh | head -c 20 > plain; mv plain cap.plain; ls -l cap.plain | cut -c1-10 > list"));
  show("list");
  show("cap.plain");
  CALL(system("bash -c 'echo from bash > cap.bash; read line < cap.bash; echo \"$line\" >> cap.bash'"));
  show("cap.bash");
  CALL(system("rm cap.sh cap.count cap.sorted cap.moved cap.plain cap.bash list; ls"));
}

static void inherits(void) {
  const int fd = open("cap.i", O_RDWR | O_CREAT | O_TRUNC, 0644);
  CALL(write(fd, "before ", 7));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fd, 1);
  char* const words[] = {"sh", "-c", "echo spawned", NULL};
  pid_t child = 0;
  CALL(posix_spawn(&child, "/bin/sh", &actions, NULL, words, environ));
  VALUE(ended(child));
  CALL(lseek(fd, 0, SEEK_CUR));
  char* const empty[] = {NULL};
  char* const cat[] = {"cat", "cap.i", NULL};
  posix_spawn_file_actions_destroy(&actions);
  const pid_t other = fork();
  if (other == 0) {
    const int out = open("cap.o", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    dup2(out, 1);
    execve("/bin/cat", cat, empty); /* the environment has no preload */
    _exit(99);
  }
  VALUE(ended(other));
  const pid_t third = vfork();
  if (third == 0) {
    dup2(fd, 1);
    execl("/bin/echo", "echo", "vforked", NULL);
    _exit(99);
  }
  VALUE(ended(third));
  printf("still standard output\n");
  show("cap.o");
  show("cap.i");
  FILE* const pipe = popen("cat > cap.pipe", "w");
  CALL(fputs("through a pipe", pipe));
  CALL(pclose(pipe));
  show("cap.pipe");
  CALL(close(fd));
  CALL(unlink("cap.i"));
  CALL(unlink("cap.o"));
  CALL(unlink("cap.pipe"));
}

static void closed_at_exec(void) {
  const int kept = file_with("cap.kept", ""), gone = open("cap.kept", O_RDWR | O_CLOEXEC);
  char command[100];
  snprintf(command, sizeof command, "echo kept >&%d; (echo gone >&%d) 2>/dev/null || echo closed >&%d", kept,
           gone, kept);
  CALL(system(command));
  show("cap.kept");
  CALL(close(kept));
  CALL(close(gone));
  CALL(unlink("cap.kept"));
}

static void* read_directories(void* none) {
  while (!over) {
    DIR* const directory = opendir(".");
    for (int i = 0; i < 3; ++i) {
      while (readdir(directory)) continue;
      rewinddir(directory);
    }
    closedir(directory);
  }
  return none;
}

/* Tests vfork before this process has opened captured files itself. */
static void vforks(void) {
  const pid_t child = vfork();
  if (child == 0) {
    const int fd = open("cap.v", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    dup2(fd, 1);
    close(fd);
    execl("/bin/echo", "echo", "of a vforked program", NULL);
    _exit(99);
  }
  VALUE(ended(child));
  show("cap.v");
  const pid_t other = vfork();
  if (other == 0) {
    close(0);
    if (open("cap.none", O_RDONLY) != -1 || open("cap.v", O_RDONLY) != 0) _exit(98);
    execl("/bin/cat", "cat", NULL);
    _exit(99);
  }
  VALUE(ended(other));
  char room[20] = "";
  const int plain = file_with("plain", "");
  CALL(write(plain, "plain", 5));
  CALL(pread(plain, room, sizeof room, 0));
  CALL(close(plain));
  show("plain");
  for (int i = 0; i < 100; ++i) close(file_with("cap.later", "after a vfork"));
  show("cap.later");
  CALL(unlink("plain"));
  CALL(unlink("cap.v"));
  CALL(unlink("cap.later"));
}

/* Threads read directories while another thread forks. Runs before any capture, because the first use
 * determines the order of locks. */
void cases_forks(void) {
  fflush(stdout);
  vforks();
  const pid_t all = fork(); /* the alarm ends an endless wait */
  if (all == 0) {
    alarm(60);
    pthread_t threads[3];
    for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, read_directories, NULL);
    int good = 0;
    for (int i = 0; i < 300; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        alarm(20);
        close(file_with("cap.child", "c"));
        closedir(opendir("."));
        _exit(0);
      }
      good += ended(child) == 0;
    }
    over = 1;
    for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
    _exit(good == 300 ? 5 : 6);
  }
  VALUE(ended(all));
  CALL(unlink("cap.child"));
}

/* After daemon(3), standard streams must refer to /dev/null, and captured files must stay open. */
static void daemons(void) {
  int both[2];
  char byte = 0;
  CALL(pipe(both));
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const int fd = open("cap.out", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    dup2(fd, 1);
    write(1, "before\n", 7);
    daemon(1, 0);
    write(1, "lost\n", 5);
    puts("printed, and lost");
    fflush(stdout);
    write(fd, "after\n", 6);
    write(both[1], "o", 1);
    _exit(0);
  }
  VALUE(ended(child));
  CALL(read(both[0], &byte, 1));
  CALL(close(both[0]));
  CALL(close(both[1]));
  show("cap.out");
  CALL(unlink("cap.out"));
}

static int ticks = -1;
static void tick(int number) {
  write(ticks, "tick\n", 5);
  (void)number;
}

/* During a fork, a signal arrives whose handler writes. The handler must not block. */
static void forks_interrupted(void) {
  fflush(stdout);
  const pid_t all = fork();
  if (all == 0) {
    struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 3000}, {0, 3000}};
    ticks = open("cap.ticks", O_WRONLY | O_CREAT | O_APPEND, 0644);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 2000; ++i) {
      const pid_t child = fork();
      if (child == 0) _exit(0);
      ended(child);
    }
    _exit(5);
  }
  int status = 0;
  for (int i = 0; i < 600 && waitpid(all, &status, WNOHANG) == 0; ++i) usleep(100000);
  kill(all, SIGKILL);
  VALUE(status);
  CALL(unlink("cap.ticks"));
}

static void* open_and_close(void* name) {
  for (;;) close(open(name, O_RDWR | O_CREAT, 0644));
  return NULL;
}

static void* write_for_ever(void* name) {
  const int fd = open(name, O_RDWR | O_CREAT, 0644);
  for (;;) pwrite(fd, "x", 1, 0);
  return NULL;
}

static void* read_for_ever(void* name) {
  const int fd = open(name, O_RDWR | O_CREAT, 0644);
  char byte = 0;
  for (;;) read(fd, &byte, 1);
  return NULL;
}

static void* sync_for_ever(void* name) {
  const int fd = open(name, O_RDWR | O_CREAT, 0644);
  for (;;) fdatasync(fd);
  return NULL;
}

static void* wait_in_open(void* name) {
  for (;;) close(open(name, O_RDONLY));
  return NULL;
}

static void* wait_in_fopen(void* name) {
  FILE* const file = fopen(name, "r");
  if (file) fclose(file);
  for (;;) pause();
  return NULL;
}

static void* wait_in_print(void* descriptor) {
  for (;;) dprintf(*(int*)descriptor, "%1000d", 1);
  return NULL;
}

/* Cancels a thread in a call. The thread must end, and the program must continue. */
static void cancel(void* (*work)(void*), void* argument) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    pthread_t thread;
    void* result = NULL;
    pthread_create(&thread, NULL, work, argument);
    usleep(20000);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    close(file_with("cap.cancel", "after"));
    _exit(result == PTHREAD_CANCELED ? 5 : 6);
  }
  VALUE(ended(child));
  show("cap.cancel");
  CALL(unlink("cap.cancel"));
}

static void cancelled(void) {
  int both[2];
  CALL(mkfifo("fifo", 0600));
  CALL(mkfifo("cap.fifo", 0600));
  CALL(pipe(both));
  cancel(open_and_close, "plain");
  cancel(open_and_close, "cap.cancel");
  cancel(write_for_ever, "cap.cancel");
  cancel(read_for_ever, "cap.cancel");
  cancel(sync_for_ever, "cap.cancel");
  cancel(wait_in_open, "fifo");
  cancel(wait_in_open, "cap.fifo");
  cancel(wait_in_fopen, "cap.fifo");
  cancel(wait_in_print, &both[1]);
  CALL(close(both[0]));
  CALL(close(both[1]));
  CALL(unlink("plain"));
  CALL(unlink("fifo"));
  CALL(unlink("cap.fifo"));
}

/* A child must have its own signal mask, even if it shares the memory of its parent. */
static void masks(void) {
  const mode_t before = umask(022);
  const pid_t child = vfork();
  if (child == 0) {
    umask(077);
    _exit(0);
  }
  CALL(ended(child));
  close(open("cap.mask", O_CREAT | O_WRONLY, 0666));
  show_status("cap.mask");
  umask(before);
  CALL(unlink("cap.mask"));
}

void cases_processes(void) {
  fflush(stdout);
  forks();
  shells();
  inherits();
  closed_at_exec();
  daemons();
  forks_interrupted();
  masks();
  cancelled();
}
