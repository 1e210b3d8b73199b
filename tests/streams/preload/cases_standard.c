/* Standard streams with descriptors that become captured files in all possible ways. This group runs early,
 * before other groups have used the streams. Each case runs in a child with the original streams. */
#include "cases.h"

static void run(void (*work)(void), const char* name) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    work();
    fflush(stdout);
    fflush(stderr);
    _exit(7);
  }
  int status = 0;
  waitpid(child, &status, 0);
  VALUE(status);
  show(name);
  CALL(unlink(name));
}

static void by_open(void) {
  close(1);
  open("cap.out", O_WRONLY | O_CREAT, 0644);
  printf("printed after open\n");
}

/* The stream must keep the buffering that the program selected. */
static void by_lines(void) {
  struct stat status = {0};
  close(1);
  open("cap.out", O_WRONLY | O_CREAT, 0644);
  printf("first\n");
  stat("cap.out", &status);
  printf("%lld bytes before\n", (long long)status.st_size);
}

static void by_lines_no_more(void) {
  struct stat status = {0};
  if (!freopen("cap.out", "w", stdout)) return;
  printf("first\n");
  stat("cap.out", &status);
  printf("%lld bytes before\n", (long long)status.st_size);
}

static void by_dup(void) {
  const int fd = open("cap.out", O_WRONLY | O_CREAT, 0644);
  close(1);
  dup(fd);
  printf("printed after dup\n");
}

static void by_fcntl(void) {
  const int fd = open("cap.out", O_WRONLY | O_CREAT, 0644);
  close(2);
  fcntl(fd, F_DUPFD_CLOEXEC, 2);
  fprintf(stderr, "error number %d\n", 5);
}

static void by_freopen(void) {
  close(1);
  if (freopen("cap.out", "w", stdout)) printf("printed after freopen\n");
}

static void by_freopen_for_both(void) {
  char line[20] = "";
  if (!freopen("cap.out", "w+", stdout)) return;
  printf("written\n");
  rewind(stdout);
  const int got = fgets(line, sizeof line, stdout) != NULL;
  fseek(stdout, 0, SEEK_END);
  printf("%d %s", got, line);
  if (freopen("cap.out", "a", stdout)) printf("from %ld\n", ftell(stdout));
}

/* A failed freopen must close the old file nevertheless. */
static void by_freopen_in_vain(void) {
  const int fd = open("cap.out", O_WRONLY | O_CREAT, 0644);
  close(0);
  open("/dev/zero", O_RDONLY);
  FILE* const made = freopen("cap.none", "r", stdin);
  dprintf(fd, "%s, errno %d, ", made ? "opened" : "not opened", errno);
  dprintf(fd, "read %d, closed %d\n", getchar(), fcntl(0, F_GETFD));
}

/* When a stream flushes buffered data, it must write to the file that its descriptor refers to by then. */
static void pending(void) {
  static char room[100000], block[60000];
  setvbuf(stdout, room, _IOFBF, sizeof room);
  memset(block, 'p', sizeof block);
  fwrite(block, 1, sizeof block, stdout);
  const int fd = open("cap.out", O_WRONLY | O_CREAT, 0644);
  dup2(fd, 1);
  printf("end");
  fflush(stdout);
  if (lseek(fd, 0, SEEK_CUR) == (off_t)sizeof block + 3) ftruncate(fd, 13);
}

static void from_input(void) {
  char word[40] = "";
  close(file_with("cap.out", "words of input\n"));
  close(0);
  open("cap.out", O_RDWR);
  if (scanf("%39s", word) == 1) lseek(0, 0, SEEK_END);
  write(0, word, strlen(word));
}

static void printed_to_descriptor(void) {
  const int fd = open("cap.out", O_WRONLY | O_CREAT, 0644);
  const int n = dprintf(fd, "%s %d\n", "number", 42);
  dprintf(fd, "%d characters\n", n);
  close(fd);
  dprintf(fd, "nothing");
}

void cases_standard(void) {
  run(by_lines, "cap.out");
  run(by_lines_no_more, "cap.out");
  run(by_open, "cap.out");
  run(by_dup, "cap.out");
  run(by_fcntl, "cap.out");
  run(by_freopen, "cap.out");
  run(by_freopen_for_both, "cap.out");
  run(by_freopen_in_vain, "cap.out");
  run(pending, "cap.out");
  run(from_input, "cap.out");
  run(printed_to_descriptor, "cap.out");
  cases_cxx_on(run);
}
