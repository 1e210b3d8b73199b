#include "cases.h"

#include <aio.h>
#include <execinfo.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>

static void positions(void) {
  char room[16] = "";
  const int fd = file_with("cap.p", "0123456789");
  CALL(lseek(fd, 0, SEEK_CUR));
  CALL(lseek(fd, 2, SEEK_SET));
  CALL(read(fd, room, 3));
  printf("  %s\n", room);
  CALL(write(fd, "XY", 2));
  CALL(lseek(fd, -1, SEEK_END));
  CALL(lseek(fd, -100, SEEK_CUR));
  CALL(lseek(fd, 0, 77));
  CALL(pread(fd, room, 4, 4));
  CALL(pwrite(fd, "zz", 2, 0));
  CALL(pread(fd, room, 4, -1));
  CALL(pwrite(fd, "a", 1, -5));
  CALL(pread(fd, room, 4, 100));
  CALL(lseek(fd, 0, SEEK_CUR));
  CALL(lseek(fd, 20, SEEK_SET));
  CALL(read(fd, room, 4));
  CALL(write(fd, "end", 3));
  show("cap.p");
  CALL(lseek(fd, 0, SEEK_DATA));
  CALL(lseek(fd, 23, SEEK_HOLE));
  CALL(lseek(fd, 99, SEEK_DATA));
  CALL(ftruncate(fd, 3));
  CALL(lseek(fd, 0, SEEK_CUR));
  show("cap.p");
  CALL(ftruncate(fd, 6));
  show("cap.p");
  CALL(ftruncate(fd, -1));
  CALL(truncate("cap.p", 2));
  CALL(truncate("cap.p", -2));
  CALL(truncate("cap.none", 2));
  show("cap.p");
  CALL(posix_fallocate(fd, 0, 10));
  CALL(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 4096));
  CALL(posix_fallocate(fd, 0, 0));
  show("cap.p");
  CALL(pwrite(fd, "abcdefghij", 10, 0));
  CALL(fallocate(fd, FALLOC_FL_PUNCH_HOLE, 2, 3));
  CALL(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 2, 3));
  show("cap.p");
  CALL(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 8, 100));
  show("cap.p");
  CALL(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 100, 100));
  CALL(fallocate(fd, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, 6, 100));
  show("cap.p");
  CALL(fallocate(fd, FALLOC_FL_ZERO_RANGE, 5, 15));
  show("cap.p");
  CALL(fallocate(fd, FALLOC_FL_ZERO_RANGE | FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 1));
  CALL(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 0));
  CALL(ftruncate(fd, 3000000));
  CALL(pwrite(fd, "end", 3, 2999997));
  CALL(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 3, 2999996));
  CALL(pread(fd, room, 4, 2999996));
  printf("  %d %d %c\n", room[0], room[2], room[3]);
  CALL(read(fd, room, 0));
  CALL(write(fd, room, 0));
  CALL(fsync(fd));
  CALL(fdatasync(fd));
  CALL(sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE));
  CALL(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED));
  CALL(close(fd));
  CALL(unlink("cap.p"));
}

// Prints the letter at the beginning of each block, and the length.
static void show_blocks(int fd, off_t block) {
  char c = 0;
  printf("  blocks:");
  for (off_t at = 0; pread(fd, &c, 1, at) == 1; at += block) printf(c ? " %c" : " %d", c);
  printf(", %lld bytes\n", (long long)lseek(fd, 0, SEEK_END));
}

static void moving_ranges(void) {
  const off_t block = 4096;
  const int fd = open("cap.m", O_RDWR | O_CREAT | O_TRUNC, 0644);
  for (int i = 0; i < 6; ++i) pwrite(fd, &"abcdef"[i], 1, i * block);
  pwrite(fd, "end", 3, 6 * block);
  show_blocks(fd, block);
  CALL(fallocate(fd, FALLOC_FL_COLLAPSE_RANGE, block, 2 * block));
  show_blocks(fd, block);
  CALL(fallocate(fd, FALLOC_FL_INSERT_RANGE, 2 * block, 3 * block));
  show_blocks(fd, block);
  CALL(fallocate(fd, FALLOC_FL_INSERT_RANGE, 0, block));
  show_blocks(fd, block);
  for (int insert = 0; insert < 2; ++insert) {
    const int mode = insert ? FALLOC_FL_INSERT_RANGE : FALLOC_FL_COLLAPSE_RANGE;
    CALL(fallocate(fd, mode, 1, block));
    CALL(fallocate(fd, mode, block, 7));
    CALL(fallocate(fd, mode, -block, block));
    CALL(fallocate(fd, mode, 0, 0));
    CALL(fallocate(fd, mode, 7 * block, block));
    CALL(fallocate(fd, mode, 8 * block, block));
    CALL(fallocate(fd, mode, 100 * block, block));
    CALL(fallocate(fd, mode | FALLOC_FL_KEEP_SIZE, 0, block));
    CALL(fallocate(fd, mode | FALLOC_FL_PUNCH_HOLE, 0, block));
    show_blocks(fd, block);
  }
  const int reading = open("cap.m", O_RDONLY);
  CALL(fallocate(reading, FALLOC_FL_COLLAPSE_RANGE, 0, block));
  CALL(close(reading));
  const off_t large = 1000 * block;
  CALL(ftruncate(fd, large + 10));
  CALL(pwrite(fd, "0123456789", 10, large));
  CALL(fallocate(fd, FALLOC_FL_INSERT_RANGE, 9 * block, 300 * block));
  CALL(fallocate(fd, FALLOC_FL_COLLAPSE_RANGE, 8 * block, 700 * block));
  char tail[11] = "";
  CALL(pread(fd, tail, 11, 600 * block));
  printf("  %s\n", tail);
  CALL(lseek(fd, 0, SEEK_END));
  CALL(close(fd));
  CALL(unlink("cap.m"));
}

static void appending(void) {
  const int one = open("cap.l", O_WRONLY | O_CREAT | O_APPEND, 0644),
            two = open("cap.l", O_WRONLY | O_APPEND);
  CALL(write(one, "one ", 4));
  CALL(write(two, "two ", 4));
  CALL(lseek(one, 0, SEEK_SET));
  CALL(write(one, "three ", 6));
  CALL(lseek(one, 0, SEEK_CUR));
  CALL(pwrite(two, "four", 4, 0));
  show("cap.l");
  CALL(close(one));
  CALL(close(two));
  CALL(unlink("cap.l"));
}

static void vectors(void) {
  char a[3] = "", b[5] = "";
  struct iovec put[] = {{"abc", 3}, {"", 0}, {"defgh", 5}}, get[] = {{a, 2}, {b, 4}};
  const int fd = open("cap.v", O_RDWR | O_CREAT, 0644);
  CALL(writev(fd, put, 3));
  CALL(preadv(fd, get, 2, 1));
  printf("  %s %s\n", a, b);
  CALL(pwritev(fd, put, 1, 6));
  CALL(preadv2(fd, get, 2, 0, 0));
  CALL(pwritev2(fd, put, 1, -1, RWF_APPEND));
  CALL(pwritev2(fd, put, 1, 0, 1 << 20));
  CALL(writev(fd, put, -1));
  CALL(writev(fd, put, 5000));
  CALL(lseek(fd, 1, SEEK_SET));
  CALL(readv(fd, get, 2));
  CALL(lseek(fd, 0, SEEK_CUR));
  show("cap.v");
  CALL(close(fd));
  CALL(unlink("cap.v"));
}

static void copies(void) {
  const int from = file_with("cap.from", "captured bytes"), to = open("cap.to", O_RDWR | O_CREAT, 0644);
  const int plain = file_with("plain", "plain bytes");
  off_t at = 3;
  CALL(sendfile(to, from, &at, 100));
  VALUE(at);
  lseek(plain, 0, SEEK_SET);
  CALL(sendfile(to, plain, NULL, 5));
  CALL(lseek(plain, 0, SEEK_CUR));
  loff_t in = 9, out = 1;
  CALL(copy_file_range(from, &in, to, &out, 5, 0));
  show("cap.to");
  lseek(from, 0, SEEK_SET);
  CALL(copy_file_range(from, NULL, plain, NULL, 8, 0));
  show("plain");
  CALL(copy_file_range(from, NULL, plain, NULL, 8, 12));
  close(from);
  close(to);
  close(plain);
  CALL(unlink("cap.from"));
  CALL(unlink("cap.to"));
  CALL(unlink("plain"));
}

static void ranges(void) {
  const int from = file_with("cap.from", "0123456789"),
            log = open("cap.log", O_WRONLY | O_CREAT | O_APPEND, 0644);
  int pipes[2];
  CALL(pipe(pipes));
  CALL(write(pipes[1], "piped", 5));
  loff_t in = 0, out = 4;
  CALL(copy_file_range(from, &in, from, &out, 6, 0));
  VALUE(in + out);
  in = 0, out = 4;
  CALL(copy_file_range(from, &in, from, &out, 4, 0));
  in = 8, out = 20;
  CALL(copy_file_range(from, &in, from, &out, 100, 0));
  show("cap.from");
  in = 0;
  CALL(copy_file_range(from, &in, log, NULL, 4, 0));
  CALL(copy_file_range(from, &in, pipes[1], NULL, 4, 0));
  CALL(copy_file_range(pipes[0], NULL, from, NULL, 4, 0));
  CALL(copy_file_range(log, NULL, from, NULL, 4, 0));
  in = 0;
  CALL(sendfile(log, from, &in, 4));
  CALL(close(log));
  CALL(close(from));
  CALL(close(pipes[0]));
  CALL(close(pipes[1]));
  CALL(unlink("cap.from"));
  CALL(unlink("cap.log"));
}

static void splices(void) {
  static char block[200000], back[200000];
  memset(block, 'b', sizeof block);
  int pipes[2];
  const int fd = file_with("cap.s", "");
  CALL(pipe(pipes));
  CALL(splice(pipes[0], NULL, fd, NULL, 65536, SPLICE_F_NONBLOCK));
  CALL(write(pipes[1], "01234", 5));
  CALL(splice(pipes[0], NULL, fd, NULL, 65536, 0));
  loff_t at = 10;
  CALL(write(pipes[1], "56789", 5));
  CALL(splice(pipes[0], NULL, fd, &at, 3, SPLICE_F_NONBLOCK));
  VALUE(at);
  CALL(lseek(fd, 0, SEEK_CUR));
  show("cap.s");
  CALL(splice(pipes[0], NULL, fd, NULL, 65536, 1 << 10));
  CALL(splice(pipes[0], &at, fd, NULL, 65536, 0));
  CALL(splice(fd, &at, pipes[1], &at, 65536, 0));
  CALL(splice(fd, NULL, fd, NULL, 65536, 0));
  CALL(read(pipes[0], back, 100));
  CALL(pwrite(fd, block, sizeof block, 0));
  CALL(fcntl(pipes[1], F_SETPIPE_SZ, 8192));
  CALL(lseek(fd, 0, SEEK_SET));
  CALL(splice(fd, NULL, pipes[1], NULL, 65536, 0));
  CALL(lseek(fd, 0, SEEK_CUR));
  CALL(splice(fd, NULL, pipes[1], NULL, 65536, SPLICE_F_NONBLOCK));
  CALL(read(pipes[0], back, 5000));
  VALUE(memcmp(back, block, 5000));
  CALL(read(pipes[0], back, 50000));
  at = 199999;
  CALL(splice(fd, &at, pipes[1], NULL, 65536, 0));
  VALUE(at);
  CALL(splice(fd, &at, pipes[1], NULL, 65536, 0));
  CALL(splice(fd, NULL, pipes[1], NULL, 0, 0));
  CALL(read(pipes[0], back, 50000));
  CALL(close(pipes[1]));
  CALL(splice(pipes[0], NULL, fd, NULL, 65536, 0));
  CALL(close(pipes[0]));
  CALL(close(fd));
  CALL(pipe(pipes));
  CALL(write(pipes[1], "end", 3));
  const int log = open("cap.s", O_WRONLY | O_APPEND), only = open("cap.s", O_RDONLY);
  CALL(splice(pipes[0], NULL, log, NULL, 65536, 0));
  CALL(splice(pipes[0], NULL, only, NULL, 65536, 0));
  CALL(splice(log, NULL, pipes[1], NULL, 65536, 0));
  CALL(splice(fd, &at, pipes[0], NULL, 65536, 0));
  CALL(read(pipes[0], back, 10));
  CALL(close(pipes[0]));
  CALL(close(pipes[1]));
  CALL(close(log));
  CALL(close(only));
  CALL(unlink("cap.s"));
}

static void controls(void) {
  int value = 0;
  const int fd = file_with("cap.c", "0123456789");
  CALL(lseek(fd, 3, SEEK_SET));
  CALL(ioctl(fd, FIONREAD, &value));
  VALUE(value);
  value = 1;
  CALL(ioctl(fd, FIONBIO, &value));
  CALL(fcntl(fd, F_GETFL) & O_NONBLOCK);
  value = 0;
  CALL(ioctl(fd, FIONBIO, &value));
  CALL(fcntl(fd, F_GETFL) & O_NONBLOCK);
  CALL(ioctl(fd, TIOCGWINSZ, &value));
  CALL(close(fd));
  CALL(unlink("cap.c"));
}

static void asynchronous(void) {
  char text[] = "asynchronous", room[20] = "";
  const int fd = open("cap.aio", O_RDWR | O_CREAT, 0644);
  struct aiocb put = {.aio_fildes = fd, .aio_buf = text, .aio_nbytes = 12, .aio_offset = 4};
  struct aiocb get = {.aio_fildes = fd, .aio_buf = room, .aio_nbytes = 16, .aio_offset = 0};
  const struct aiocb* const waited[] = {&put};
  CALL(aio_write(&put));
  while (aio_error(&put) == EINPROGRESS) aio_suspend(waited, 1, NULL);
  CALL(aio_return(&put));
  struct aiocb* list[] = {&get};
  get.aio_lio_opcode = LIO_READ;
  CALL(lio_listio(LIO_WAIT, list, 1, NULL));
  CALL(aio_return(&get));
  printf("  %s\n", room + 4);
  CALL(close(fd));
  CALL(unlink("cap.aio"));
}

static void by_number(void) {
  char room[8] = "";
  const int fd = (int)syscall(SYS_openat, AT_FDCWD, "cap.s", O_RDWR | O_CREAT, 0644);
  CALL(syscall(SYS_write, fd, "number", 6));
  CALL(syscall(SYS_lseek, fd, 0L, SEEK_SET));
  CALL(syscall(SYS_read, fd, room, 7));
  printf("  %s\n", room);
  CALL(syscall(SYS_ftruncate, fd, 2L));
  CALL(syscall(SYS_close, fd));
  show("cap.s");
  const int one = open("cap.s", O_RDWR), two = open("cap.s", O_RDWR);
  CALL(syscall(SYS_flock, one, LOCK_EX));
  CALL(flock(two, LOCK_EX | LOCK_NB));
  CALL(close(one));
  CALL(close(two));
  CALL(syscall(SYS_fchmodat, AT_FDCWD, "cap.s", 0600));
  CALL(syscall(SYS_utimensat, AT_FDCWD, "cap.s", NULL, 0));
  CALL(syscall(SYS_renameat, AT_FDCWD, "cap.s", AT_FDCWD, "cap.s2"));
  show_status("cap.s2");
  CALL(syscall(SYS_renameat, AT_FDCWD, "cap.s2", AT_FDCWD, "cap.s"));
  CALL(syscall(SYS_unlinkat, AT_FDCWD, "cap.s", 0));
}

static void large(void) {
  const size_t size = 3 << 20;
  char* const block = malloc(size);
  for (size_t i = 0; i < size; ++i) block[i] = (char)(i * 2654435761U >> 24);
  const int fd = open("cap.big", O_RDWR | O_CREAT, 0644);
  CALL(write(fd, block, size));
  CALL(pwrite(fd, "over", 4, 1 << 20));
  char* const back = calloc(1, size);
  CALL(pread(fd, back, size, 0));
  memcpy(block + (1 << 20), "over", 4);
  VALUE(memcmp(block, back, size));
  CALL(close(fd));
  CALL(unlink("cap.big"));
  free(block);
  free(back);
}

static void backtraces(void) {
  void* frames[2];
  const int n = backtrace(frames, 2), fd = file_with("cap.trace", "");
  backtrace_symbols_fd(frames, n, fd);
  VALUE(lseek(fd, 0, SEEK_END) > 0);
  CALL(close(fd));
  CALL(unlink("cap.trace"));
}

void cases_transfer(void) {
  positions();
  moving_ranges();
  appending();
  vectors();
  copies();
  ranges();
  splices();
  controls();
  asynchronous();
  by_number();
  large();
  backtraces();
}
