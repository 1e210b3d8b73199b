#include "cases.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/time.h>

static void duplicates(void) {
  const int fd = file_with("cap.d", "0123456789");
  const int other = dup(fd);
  VALUE(other != fd);
  CALL(lseek(fd, 4, SEEK_SET));
  CALL(lseek(other, 0, SEEK_CUR));
  CALL(dup2(fd, 60));
  CALL(write(60, "AB", 2));
  CALL(lseek(fd, 0, SEEK_CUR));
  CALL(fcntl(fd, F_DUPFD, 70));
  CALL(fcntl(fd, F_DUPFD_CLOEXEC, 80));
  CALL(fcntl(80, F_GETFD));
  CALL(dup3(fd, 90, O_CLOEXEC));
  CALL(dup3(fd, fd, 0));
  CALL(dup2(fd, fd));
  CALL(dup2(99, 98));
  CALL(close(fd));
  CALL(write(70, "C", 1));
  CALL(write(fd, "x", 1));
  const int plain = file_with("plain", "p");
  CALL(dup2(plain, 60));
  CALL(write(60, "q", 1));
  show("plain");
  CALL(dup2(70, plain));
  CALL(write(plain, "D", 1));
  show("cap.d");
  CALL(close_range(80, 90, 0));
  CALL(write(80, "x", 1));
  CALL(close_range(60, 70, 0));
  CALL(close(other));
  CALL(close(plain));
  CALL(unlink("cap.d"));
  CALL(unlink("plain"));
}

/* The C library closes the descriptor number of a stream even if the number now refers to another file. */
static void closed_by_streams(void) {
  char room[20];
  const int fd = file_with("cap.c", "captured");
  FILE* const file = fopen("/dev/null", "r");
  const int number = fileno(file);
  CALL(dup2(fd, number));
  CALL(fclose(file));
  CALL(write(number, "x", 1));
  const int plain = file_with("plain", "bytes of another file");
  VALUE(plain == number);
  CALL(close(plain));
  show("cap.c");
  show("plain");
  FILE* const program = popen("true", "r");
  const int read_end = fileno(program);
  int both[2];
  CALL(dup2(fd, read_end));
  pclose(program);
  CALL(pipe(both));
  VALUE(both[0] == read_end);
  CALL(write(both[1], "piped", 5));
  CALL(read(both[0], room, sizeof room));
  CALL(close(both[0]));
  CALL(close(both[1]));
  char* text = NULL;
  size_t size = 0;
  FILE* const memory = open_memstream(&text, &size);
  CALL(fputs("memory", memory));
  CALL(fclose(memory));
  free(text);
  CALL(write(fd, "!", 1));
  CALL(close(fd));
  CALL(unlink("cap.c"));
  CALL(unlink("plain"));
}

static void waiting(void) {
  const int fd = file_with("cap.w", "w");
  struct pollfd one = {fd, POLLIN | POLLOUT, 0};
  CALL(poll(&one, 1, 0));
  VALUE(one.revents);
  fd_set set;
  FD_ZERO(&set);
  FD_SET(fd, &set);
  CALL(select(fd + 1, &set, NULL, NULL, NULL));
  CALL(isatty(fd));
  CALL(fchdir(fd));
  CALL(fdopendir(fd) ? 0 : -1);
  CALL(close(fd));
  CALL(unlink("cap.w"));
}

/* Runs fcntl in a child, because a child has locks of its own. */
static int of_child(int fd, int command, short type, off_t start, off_t length) {
  const pid_t child = fork();
  if (child == 0) {
    struct flock range = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = length};
    const int result = fcntl(fd, command, &range);
    _exit(command == F_GETLK                   ? range.l_type
          : result == 0                        ? 10
          : errno == EAGAIN || errno == EACCES ? 20
                                               : 30);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

static void locking(void) {
  const int fd = file_with("cap.lock", "0123456789");
  struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 2, .l_len = 3};
  CALL(fcntl(fd, F_SETLK, &range));
  VALUE(of_child(fd, F_SETLK, F_WRLCK, 4, 1));
  VALUE(of_child(fd, F_SETLK, F_WRLCK, 5, 1));
  VALUE(of_child(fd, F_GETLK, F_RDLCK, 0, 0));
  range.l_type = F_UNLCK;
  CALL(fcntl(fd, F_SETLK, &range));
  VALUE(of_child(fd, F_SETLK, F_WRLCK, 4, 1));
  CALL(lockf(fd, F_TLOCK, 0));
  VALUE(of_child(fd, F_SETLK, F_WRLCK, 20, 1));
  const int other = open("cap.lock", O_RDONLY);
  range.l_type = F_WRLCK;
  CALL(fcntl(other, F_SETLK, &range));
  CALL(close(other));
  VALUE(of_child(fd, F_SETLK, F_WRLCK, 20, 1));
  CALL(flock(fd, LOCK_EX));
  const int third = open("cap.lock", O_RDWR);
  CALL(flock(third, LOCK_EX | LOCK_NB));
  CALL(flock(fd, LOCK_UN));
  CALL(flock(third, LOCK_EX | LOCK_NB));
  CALL(close(third));
  CALL(flock(fd, LOCK_SH | LOCK_NB));
  CALL(close(fd));
  CALL(unlink("cap.lock"));
}

/* Other commands of fcntl(2), on files without leases and seals. */
static void other_commands(void) {
  const int fd = file_with("cap.other", "0123456789");
  CALL(fcntl(fd, F_SETLEASE, F_RDLCK));
  CALL(fcntl(fd, F_GETLEASE));
  CALL(fcntl(fd, F_SETLEASE, F_UNLCK));
  CALL(fcntl(fd, F_GET_SEALS));
  CALL(fcntl(fd, F_ADD_SEALS, 1));
  CALL(fcntl(fd, F_GETPIPE_SZ));
  CALL(lockf(fd, 99, 1));
  CALL(posix_fadvise(fd, 0, 0, 99));
  CALL(posix_fadvise(fd, 0, 0, POSIX_FADV_NOREUSE));
  CALL(posix_fadvise(fd, 0, -1, POSIX_FADV_NORMAL));
  CALL(readahead(fd, 0, 1));
  CALL(close(fd));
  CALL(unlink("cap.other"));
}

static void rang(int number) {
  const int fd = open("cap.signal", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  write(fd, "rang\n", 4);
  close(fd);
  (void)number;
}

/* A signal interrupts a process that waits for a lock. The handler must be able to use files. */
static void interrupted(void) {
  const int fd = file_with("cap.wait", "0123456789");
  struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
  CALL(fcntl(fd, F_SETLK, &range));
  CALL(flock(fd, LOCK_EX));
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    struct sigaction action = {.sa_handler = rang};
    sigaction(SIGALRM, &action, NULL);
    const int other = open("cap.wait", O_RDWR);
    struct itimerval soon = {.it_value = {0, 100000}};
    setitimer(ITIMER_REAL, &soon, NULL);
    const int by_range = fcntl(other, F_SETLKW, &range) == -1 && errno == EINTR;
    setitimer(ITIMER_REAL, &soon, NULL);
    const int by_file = flock(other, LOCK_EX) == -1 && errno == EINTR;
    write(other, "works", 5);
    _exit(by_range + 2 * by_file);
  }
  int status = 0;
  for (int i = 0; i < 50 && waitpid(child, &status, WNOHANG) == 0; ++i) usleep(100000);
  kill(child, SIGKILL);
  VALUE(status);
  show("cap.signal");
  show("cap.wait");
  CALL(close(fd));
  CALL(unlink("cap.wait"));
  CALL(unlink("cap.signal"));
}

static void* append_lines(void* number) {
  char line[9];
  snprintf(line, sizeof line, "line %02d\n", (int)(long)number);
  const int fd = open("cap.threads", O_WRONLY | O_APPEND);
  for (int i = 0; i < 200; ++i)
    if (write(fd, line, 8) != 8) abort();
  close(fd);
  return NULL;
}

static int shared = -1;
static void* write_shared(void* number) {
  char record[16];
  memset(record, 'a' + (int)(long)number, sizeof record);
  for (int i = 0; i < 200; ++i)
    if (write(shared, record, sizeof record) != sizeof record) abort();
  return NULL;
}

static void threads(void) {
  pthread_t all[4];
  close(file_with("cap.threads", ""));
  for (long i = 0; i < 4; ++i) pthread_create(&all[i], NULL, append_lines, (void*)i);
  for (int i = 0; i < 4; ++i) pthread_join(all[i], NULL);
  struct stat status;
  CALL(stat("cap.threads", &status));
  VALUE(status.st_size);
  CALL(unlink("cap.threads"));
  shared = open("cap.shared", O_RDWR | O_CREAT, 0644);
  for (long i = 0; i < 4; ++i) pthread_create(&all[i], NULL, write_shared, (void*)i);
  for (int i = 0; i < 4; ++i) pthread_join(all[i], NULL);
  char block[16];
  int whole = 0, of[4] = {0};
  for (off_t at = 0; pread(shared, block, 16, at) == 16; at += 16) {
    int same = 1;
    for (int i = 1; i < 16; ++i) same &= block[i] == block[0];
    whole += same;
    of[(block[0] - 'a') & 3] += same;
  }
  VALUE(whole);
  VALUE(of[0] == 200 && of[1] == 200 && of[2] == 200 && of[3] == 200);
  CALL(close(shared));
  CALL(unlink("cap.shared"));
}

static void* read_shared(void* sum) {
  unsigned number = 0;
  while (read(shared, &number, sizeof number) == sizeof number) *(long*)sum += number;
  return NULL;
}

/* Threads read numbers through one descriptor. Each number must be read exactly once. */
static void shared_reads(void) {
  enum { numbers = 20000 };
  static unsigned all[numbers];
  for (unsigned i = 0; i < numbers; ++i) all[i] = i;
  shared = open("cap.numbers", O_RDWR | O_CREAT, 0644);
  CALL(write(shared, all, sizeof all));
  CALL(lseek(shared, 0, SEEK_SET));
  pthread_t threads[4];
  long sums[4] = {0};
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, read_shared, &sums[i]);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  VALUE(sums[0] + sums[1] + sums[2] + sums[3]);
  CALL(lseek(shared, 0, SEEK_CUR));
  CALL(close(shared));
  CALL(unlink("cap.numbers"));
}

static int replaced = -1;
static int lost = 0;
static volatile int over = 0;
static void* write_replaced(void* none) {
  while (!over)
    if (write(replaced, "line\n", 5) != 5) ++lost;
  return none;
}

/* A log is replaced while threads write to it. No write may fail, and none may be lost. */
static void replaces(void) {
  pthread_t threads[2];
  replaced = open("cap.log.0", O_WRONLY | O_CREAT | O_APPEND, 0644);
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, write_replaced, NULL);
  for (int i = 1; i < 1000; ++i) {
    const int next = open(i % 2 ? "cap.log.1" : "cap.log.0", O_WRONLY | O_CREAT | O_APPEND, 0644);
    dup2(next, replaced);
    close(next);
  }
  over = 1;
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  VALUE(lost);
  CALL(dup2(replaced, 1 << 20));
  CALL(write(replaced, "end", 3));
  CALL(close(replaced));
  CALL(unlink("cap.log.0"));
  CALL(unlink("cap.log.1"));
}

void cases_descriptors(void) {
  duplicates();
  closed_by_streams();
  waiting();
  locking();
  other_commands();
  interrupted();
  threads();
  shared_reads();
  replaces();
}
