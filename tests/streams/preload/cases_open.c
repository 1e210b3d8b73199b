#include "cases.h"

#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/xattr.h>

static void flags(void) {
  CALL(open("cap.none", O_RDONLY));
  CALL(close(open("cap.a", O_WRONLY | O_CREAT, 0640)));
  show_status("cap.a");
  CALL(open("cap.a", O_WRONLY | O_CREAT | O_EXCL, 0640));
  CALL(open("cap.a", O_RDONLY | O_DIRECTORY));
  CALL(open("cap.a/", O_RDONLY));
  CALL(open("cap.a/", O_WRONLY | O_CREAT, 0644));
  CALL(open("cap.a/below", O_WRONLY | O_CREAT, 0644));
  CALL(open("cap.a/below", O_RDONLY));
  CALL(open("cap.a/cap.b", O_RDWR | O_CREAT, 0644));
  CALL(fopen("cap.a/below", "r") ? 0 : -1);
  CALL(open("cap.none/below", O_RDONLY));
  CALL(open("cap.none/", O_RDWR | O_CREAT, 0644));
  CALL(open("nowhere/cap.a", O_RDWR | O_CREAT, 0644));
  CALL(open("", O_RDONLY));
  close(file_with("cap.a", "hello"));
  CALL(close(open("cap.a", O_WRONLY | O_TRUNC)));
  show("cap.a");
  CALL(close(creat("cap.a", 0600)));
  show_status("cap.a");
  CALL(unlink("cap.a"));
}

static void modes(void) {
  char room[4];
  int fd = file_with("cap.m", "abcdef");
  close(fd);
  fd = open("cap.m", O_RDONLY);
  CALL(write(fd, "x", 1));
  CALL(ftruncate(fd, 1));
  CALL(read(fd, room, 4));
  CALL(fcntl(fd, F_GETFL) & O_ACCMODE);
  close(fd);
  fd = open("cap.m", O_WRONLY);
  CALL(read(fd, room, 4));
  CALL(fcntl(fd, F_GETFL) & O_ACCMODE);
  close(fd);
  fd = open("cap.m", O_RDWR | O_APPEND | O_NONBLOCK);
  CALL(fcntl(fd, F_GETFL));
  CALL(fcntl(fd, F_SETFL, 0));
  CALL(fcntl(fd, F_GETFL));
  CALL(fcntl(fd, F_GETFD));
  CALL(fcntl(fd, F_SETFD, FD_CLOEXEC));
  CALL(fcntl(fd, F_GETFD));
  close(fd);
  fd = open("cap.m", O_PATH);
  int unread = 0;
  CALL(read(fd, room, 1));
  CALL(fcntl(fd, F_SETFL, 0));
  CALL(ioctl(fd, FIONREAD, &unread));
  CALL(fchown(fd, getuid(), getgid()));
  CALL(fchownat(fd, "", getuid(), getgid(), AT_EMPTY_PATH));
  CALL(fgetxattr(fd, "user.none", room, sizeof room));
  CALL(flistxattr(fd, room, sizeof room));
  CALL(posix_fadvise(fd, 0, 0, 0));
  CALL(readahead(fd, 0, 1));
  CALL(close(fd));
  CALL(close(fd));
  CALL(unlink("cap.m"));
}

static void directories(void) {
  CALL(mkdir("sub", 0755));
  const int at = open("sub", O_RDONLY | O_DIRECTORY);
  CALL(close(openat(at, "cap.x", O_RDWR | O_CREAT, 0644)));
  show_directory("sub");
  struct dirent64** entries = NULL;
  CALL(scandirat64(at, ".", &entries, NULL, NULL));
  show_status("sub/cap.x");
  show_status("sub/../sub//./cap.x");
  CALL(symlink("sub", "way"));
  show_status("way/cap.x");
  CALL(symlink("sub/cap.x", "lead"));
  close(file_with("way/cap.x", "through"));
  show("lead");
  CALL(access("lead", R_OK));
  CALL(chdir("sub"));
  show("cap.x");
  show("../sub/cap.x");
  CALL(chdir(".."));
  CALL(fchdir(at));
  show("cap.x");
  CALL(chdir(".."));
  CALL(rmdir("sub"));
  CALL(unlinkat(at, "cap.x", 0));
  CALL(unlinkat(at, "cap.x", 0));
  CALL(close(at));
  CALL(rmdir("sub"));
  CALL(unlink("way"));
  CALL(unlink("lead"));
}

static void temporary(void) {
  char name[] = "cap.tmpXXXXXX";
  int fd = mkstemp(name);
  VALUE(fd >= 0);
  VALUE(strcmp(name, "cap.tmpXXXXXX") != 0 && strncmp(name, "cap.tmp", 7) == 0);
  CALL(write(fd, "t", 1));
  CALL(close(fd));
  CALL(unlink(name));
  char other[] = "cap.XXXXXX.end";
  fd = mkostemps(other, 4, O_APPEND);
  VALUE(fd >= 0 && strcmp(other + strlen(other) - 4, ".end") == 0);
  CALL(fcntl(fd, F_GETFL) & (O_ACCMODE | O_APPEND));
  CALL(close(fd));
  CALL(unlink(other));
  char bad[] = "cap.XXXXX";
  CALL(mkstemp(bad));
}

static void again(void) {
  const int fd = file_with("cap.again", "123");
  char name[40];
  snprintf(name, sizeof name, "/dev/fd/%d", fd);
  const int other = open(name, O_RDONLY);
  char room[4] = "";
  CALL(read(other, room, 4));
  printf("  %s\n", room);
  CALL(lseek(fd, 0, SEEK_CUR));
  CALL(close(other));
  const int reader = open("cap.again", O_RDONLY);
  snprintf(name, sizeof name, "/dev/fd/%d", reader);
  const int writer = open(name, O_WRONLY);
  CALL(write(writer, "4", 1));
  CALL(close(writer));
  CALL(close(open(name, O_RDONLY | O_TRUNC)));
  show("cap.again");
  CALL(close(reader));
  CALL(close(fd));
  CALL(unlink("cap.again"));
}

/* An open without a free descriptor must leave everything unchanged. */
static void limited(void) {
  const int fd = file_with("cap.limit", "kept");
  char name[40];
  snprintf(name, sizeof name, "/dev/fd/%d", fd);
  struct rlimit before, none;
  getrlimit(RLIMIT_NOFILE, &before);
  const int free_one = dup(0);
  close(free_one);
  none = before;
  none.rlim_cur = (rlim_t)free_one;
  setrlimit(RLIMIT_NOFILE, &none);
  const int cut = open("cap.limit", O_WRONLY | O_TRUNC), error_cut = errno;
  const int made = open("cap.limit.new", O_RDWR | O_CREAT, 0644), error_made = errno;
  const int again = open(name, O_WRONLY | O_TRUNC), error_again = errno;
  const int opened = fopen("cap.limit", "w") ? 0 : -1;
  setrlimit(RLIMIT_NOFILE, &before);
  VALUE(cut);
  VALUE(error_cut);
  VALUE(made);
  VALUE(error_made);
  VALUE(again);
  VALUE(error_again);
  VALUE(opened);
  show("cap.limit");
  show("cap.limit.new");
  CALL(unlink("cap.limit"));
  CALL(close(fd));
}

void cases_open(void) {
  flags();
  modes();
  directories();
  temporary();
  again();
  limited();
}
