#include "cases.h"

#include <signal.h>
#include <stdio_ext.h>

static void writing(void) {
  FILE* file = fopen("cap.f", "w");
  VALUE(file != NULL);
  VALUE(fileno(file) >= 0);
  CALL(fprintf(file, "number %d\n", 42));
  CALL(fputs("line\n", file));
  CALL(fwrite("abc", 1, 3, file));
  CALL(ftell(file));
  show("cap.f");
  CALL(fflush(file));
  show("cap.f");
  CALL(fseek(file, 2, SEEK_SET));
  CALL(fputc('X', file));
  CALL(fseek(file, 0, SEEK_END));
  CALL(ftell(file));
  CALL(putc_unlocked('!', file));
  CALL(write(fileno(file), "?", 1));
  CALL(fclose(file));
  show("cap.f");
  CALL(fopen("cap.none", "r") ? 0 : -1);
  CALL(fopen("cap.f", "wx") ? 0 : -1);
}

static void reading(void) {
  char line[40] = "";
  int number = 0;
  FILE* const file = fopen("cap.f", "r");
  CALL(fscanf(file, "nuXber %d\n", &number));
  VALUE(number);
  CALL(fgets(line, sizeof line, file) ? 0 : -1);
  printf("  %s", line);
  CALL(fgetc(file));
  CALL(ungetc('z', file));
  CALL(getc(file));
  CALL(fread(line, 1, 40, file));
  CALL(feof(file) != 0);
  CALL(ferror(file));
  rewind(file);
  CALL(fgetc(file));
  CALL(fputc('x', file));
  CALL(ferror(file) != 0);
  fpos_t place;
  CALL(fgetpos(file, &place));
  CALL(fsetpos(file, &place));
  CALL(fclose(file));
}

static void updating(void) {
  FILE* file = fopen("cap.f", "r+");
  CALL(fseek(file, 3, SEEK_SET));
  CALL(fwrite("##", 2, 1, file));
  CALL(fseek(file, 0, SEEK_SET));
  CALL(fgetc(file));
  CALL(fclose(file));
  file = fopen("cap.f", "a+");
  CALL(ftell(file));
  CALL(fputs("tail", file));
  CALL(fseek(file, 0, SEEK_SET));
  CALL(fgetc(file));
  CALL(fclose(file));
  show("cap.f");
  file = fopen("cap.f", "a");
  CALL(fputs("more", file));
  CALL(ftell(file));
  CALL(fclose(file));
  show("cap.f");
  CALL(unlink("cap.f"));
}

/* Plain files must pass through the same calls unchanged. */
static void appending(void) {
  close(file_with("plain", "12345"));
  FILE* file = fopen("plain", "a");
  CALL(ftell(file));
  CALL(fputs("more", file));
  CALL(ftell(file));
  CALL(fclose(file));
  file = fopen("plain", "a+");
  CALL(ftell(file));
  CALL(fgetc(file));
  CALL(fclose(file));
  CALL(unlink("plain"));
}

static void descriptors(void) {
  const int fd = file_with("cap.fd", "0123456789");
  CALL(fdopen(fd, "q") ? 0 : -1);
  FILE* const file = fdopen(fd, "r+");
  CALL(fseek(file, 4, SEEK_SET));
  CALL(fputs("four", file));
  CALL(fclose(file));
  CALL(close(fd));
  show("cap.fd");
  FILE* other = fopen("cap.fd", "r");
  VALUE(fgetc(other));
  other = freopen("cap.re", "w", other);
  VALUE(other != NULL);
  CALL(fputs("reopened", other));
  CALL(fclose(other));
  show("cap.re");
  CALL(unlink("cap.fd"));
  CALL(unlink("cap.re"));
}

/* If a process has read ahead, unused data must remain available to the next process that shares the
 * offset. */
static void read_ahead(void) {
  close(file_with("cap.lines", "1\n2\n3\n"));
  const int fd = open("cap.lines", O_RDONLY);
  for (int i = 0; i < 3; ++i) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      char line[10] = "";
      dup2(fd, 0);
      FILE* const own = i < 2 ? stdin : fdopen(fd, "r");
      printf("  %s", fgets(line, sizeof line, own) ? line : "nothing\n");
      exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CALL(lseek(fd, 0, SEEK_CUR));
  }
  CALL(close(fd));
  CALL(unlink("cap.lines"));
}

static void reopened(void) {
  char line[40] = "";
  FILE* file = fopen("cap.re", "w");
  CALL(fputs("first\nsecond\n", file));
  file = freopen(NULL, "r", file);
  VALUE(file != NULL);
  CALL(fgets(line, sizeof line, file) ? (int)strlen(line) : -1);
  CALL(fputc('x', file));
  file = freopen(NULL, "a+", file);
  CALL(fputs("third\n", file));
  rewind(file);
  CALL(fgets(line, sizeof line, file) ? (int)strlen(line) : -1);
  CALL(fclose(file));
  show("cap.re");
  file = fopen("cap.re", "r");
  file = freopen(NULL, "w", file);
  CALL(fputs("anew", file));
  CALL(fclose(file));
  show("cap.re");
  CALL(unlink("cap.re"));
}

static void buffers(void) {
  FILE* const file = fopen("cap.b", "w");
  CALL(setvbuf(file, NULL, _IONBF, 0));
  CALL(fputs("now", file));
  show("cap.b");
  CALL(fclose(file));
  FILE* const lines = fopen("cap.b", "w");
  CALL(setvbuf(lines, NULL, _IOLBF, 100));
  CALL(fputs("line\npart", lines));
  show("cap.b");
  CALL(fclose(lines));
  show("cap.b");
  FILE* const full = fopen("cap.b", "w");
  for (int i = 0; i < 20000; ++i) fprintf(full, "%d\n", i);
  CALL(fclose(full));
  struct stat status;
  stat("cap.b", &status);
  VALUE(status.st_size);
  long long sum = 0;
  int value = 0;
  FILE* const back = fopen("cap.b", "r");
  while (fscanf(back, "%d", &value) == 1) sum += value;
  VALUE(sum);
  CALL(fclose(back));
  CALL(unlink("cap.b"));
}

/* Standard output becomes a captured file and is restored afterwards. */
static void redirected(void) {
  fflush(stdout);
  const int kept = dup(1);
  const int fd = open("cap.out", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  dup2(fd, 1);
  close(fd);
  printf("printed\n");
  puts("put");
  fflush(stdout);
  dup2(kept, 1);
  close(kept);
  show("cap.out");
  CALL(unlink("cap.out"));
}

static int read_pipe(void) {
  char line[40] = "";
  alarm(5);
  FILE* const in = fopen("cap.pipe", "r");
  return in && fgets(line, sizeof line, in) && strcmp(line, "through a pipe\n") == 0 && fclose(in) == 0;
}

/* A named pipe must be opened once, and its reader must receive the written data. */
static void pipes(void) {
  CALL(mkfifo("cap.pipe", 0600));
  fflush(stdout);
  void (*const before)(int) = signal(SIGPIPE, SIG_IGN);
  int good = 0;
  for (int i = 0; i < 20 && good == i; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(read_pipe() ? 5 : 6);
    const int fd = open("cap.pipe", O_WRONLY);
    write(fd, "through a pipe\n", 15);
    close(fd);
    int status = 0;
    waitpid(child, &status, 0);
    good += WIFEXITED(status) && WEXITSTATUS(status) == 5;
  }
  signal(SIGPIPE, before);
  VALUE(good);
  CALL(unlink("cap.pipe"));
}

void cases_stdio(void) {
  writing();
  reading();
  updating();
  appending();
  descriptors();
  read_ahead();
  reopened();
  buffers();
  redirected();
  pipes();
}
