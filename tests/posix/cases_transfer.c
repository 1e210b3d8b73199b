#include "cases.h"

#include <aio.h>
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
  CALL(read(fd, room, 0));
  CALL(write(fd, room, 0));
  CALL(fsync(fd));
  CALL(fdatasync(fd));
  CALL(sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE));
  CALL(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED));
  CALL(close(fd));
  CALL(unlink("cap.p"));
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

void cases_transfer(void) {
  positions();
  appending();
  vectors();
  copies();
  asynchronous();
  by_number();
  large();
}
