#include "cases.h"

#include <linux/stat.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <time.h>

static void statuses(void) {
  struct stat status, other;
  const int fd = file_with("cap.s", "status");
  CALL(stat("cap.s", &status));
  CALL(fstat(fd, &other));
  VALUE(status.st_ino == other.st_ino && status.st_dev == other.st_dev);
  VALUE(status.st_size);
  VALUE(S_ISREG(status.st_mode));
  CALL(stat(".", &other));
  VALUE(status.st_dev == other.st_dev);
  CALL(fstatat(AT_FDCWD, "cap.s", &status, 0));
  CALL(fstatat(fd, "", &status, AT_EMPTY_PATH));
  VALUE(status.st_size);
  CALL(stat("cap.s/", &status));
  CALL(stat("cap.none", &status));
  struct statx wide;
  CALL(statx(AT_FDCWD, "cap.s", 0, STATX_BASIC_STATS, &wide));
  VALUE(wide.stx_size);
  VALUE(wide.stx_mode);
  CALL(statx(fd, "", AT_EMPTY_PATH, STATX_SIZE, &wide));
  VALUE(time(NULL) - status.st_mtim.tv_sec < 60);
  struct statvfs system;
  CALL(statvfs("cap.s", &system));
  VALUE(system.f_bsize);
  CALL(fstatvfs(fd, &system));
  CALL(close(fd));
}

static void changes(void) {
  struct stat status;
  CALL(chmod("cap.s", 0604));
  show_status("cap.s");
  const int fd = open("cap.s", O_RDWR);
  CALL(fchmod(fd, 0640));
  show_status("cap.s");
  CALL(fchmodat(AT_FDCWD, "cap.s", 0600, 0));
  CALL(chmod("cap.none", 0600));
  const struct timespec times[2] = {{100, 0}, {200, 300}};
  CALL(futimens(fd, times));
  CALL(fstat(fd, &status));
  VALUE(status.st_mtim.tv_sec * 1000 + status.st_mtim.tv_nsec);
  const struct timeval old[2] = {{5, 0}, {6, 7}};
  CALL(utimes("cap.s", old));
  CALL(stat("cap.s", &status));
  VALUE(status.st_mtim.tv_sec * 1000000 + status.st_mtim.tv_nsec);
  CALL(write(fd, "x", 1));
  CALL(fstat(fd, &status));
  VALUE(time(NULL) - status.st_mtim.tv_sec < 60);
  CALL(utimensat(AT_FDCWD, "cap.none", NULL, 0));
  const struct timespec bad[2] = {{0, 2000000000}, {0, 0}};
  CALL(futimens(fd, bad));
  CALL(utimensat(fd, "", times, AT_EMPTY_PATH));
  CALL(fstat(fd, &status));
  VALUE(status.st_mtim.tv_sec);
  CALL(faccessat(fd, "", R_OK, AT_EMPTY_PATH));
  CALL(chown("cap.s", (uid_t)-1, (gid_t)-1));
  CALL(fchown(fd, getuid(), getgid()));
  CALL(close(fd));
}

static void allowed(void) {
  CALL(access("cap.s", F_OK));
  CALL(access("cap.s", R_OK | W_OK));
  CALL(access("cap.s", X_OK));
  CALL(access("cap.s", 99));
  CALL(access("cap.none", F_OK));
  CALL(faccessat(AT_FDCWD, "cap.s", R_OK, AT_EACCESS));
  CALL(chmod("cap.s", 0755));
  CALL(access("cap.s", X_OK));
  umask(077);
  CALL(close(open("cap.mask", O_WRONLY | O_CREAT, 0666)));
  show_status("cap.mask");
  umask(022);
  CALL(close(open("cap.mask2", O_WRONLY | O_CREAT, 0777)));
  show_status("cap.mask2");
  CALL(unlink("cap.mask"));
  CALL(unlink("cap.mask2"));
  char room[10];
  CALL(getxattr("cap.s", "user.none", room, sizeof room));
  CALL(listxattr("cap.s", room, sizeof room));
  CALL(symlink("cap.s", "lead"));
  CALL(getxattr("lead", "user.none", room, sizeof room));
  CALL(listxattr("lead", room, sizeof room));
  CALL(listxattr("cap.s/", room, sizeof room));
  CALL(getxattr("cap.none", "user.none", room, sizeof room));
  CALL(unlink("lead"));
  CALL(unlink("cap.s"));
}

static void times(void) {
  struct stat status;
  const struct timespec old[2] = {{100, 0}, {200, 0}}, late[2] = {{0, 0}, {10413792000, 0}},
                        early[2] = {{0, 0}, {-2, 500000000}};
  close(file_with("cap.e", ""));
  CALL(utimensat(AT_FDCWD, "cap.e", old, 0));
  CALL(close(open("cap.e", O_WRONLY | O_CREAT | O_TRUNC, 0644)));
  CALL(stat("cap.e", &status));
  VALUE(time(NULL) - status.st_mtim.tv_sec < 60);
  CALL(utimensat(AT_FDCWD, "cap.e", old, 0));
  CALL(truncate("cap.e", 0));
  CALL(stat("cap.e", &status));
  VALUE(time(NULL) - status.st_mtim.tv_sec < 60);
  CALL(utimensat(AT_FDCWD, "cap.e", late, 0));
  CALL(stat("cap.e", &status));
  VALUE(status.st_mtim.tv_sec > 9000000000);
  CALL(utimensat(AT_FDCWD, "cap.e", early, 0));
  CALL(stat("cap.e", &status));
  VALUE(status.st_mtim.tv_sec);
  VALUE(status.st_mtim.tv_nsec);
  CALL(rename("cap.e", "out"));
  CALL(stat("out", &status));
  VALUE(status.st_mtim.tv_sec);
  VALUE(status.st_mtim.tv_nsec);
  CALL(unlink("out"));
}

/* Tests names of files that end with a slash. */
static void slashes(void) {
  close(file_with("cap.d", "text"));
  CALL(truncate("cap.d/", 0));
  CALL(chmod("cap.d/", 0600));
  CALL(fchmodat(AT_FDCWD, "cap.d/", 0600, 0));
  CALL(utimensat(AT_FDCWD, "cap.d/", NULL, 0));
  CALL(utimes("cap.d/", NULL));
  CALL(chown("cap.d/", (uid_t)-1, (gid_t)-1));
  CALL(lchown("cap.d/", (uid_t)-1, (gid_t)-1));
  CALL(euidaccess("cap.d/", R_OK));
  CALL(realpath("cap.d/", NULL) ? 0 : -1);
  struct stat status;
  char room[10];
  CALL(stat("cap.d/..", &status));
  CALL(stat("cap.d/below", &status));
  CALL(access("cap.d/.", F_OK));
  CALL(chmod("cap.d/below", 0600));
  CALL(readlink("cap.d", room, sizeof room));
  CALL(readlink("cap.d/", room, sizeof room));
  CALL(truncate("cap.none/", 0));
  show("cap.d");
  CALL(unlinkat(AT_FDCWD, "cap.d", 1 << 20));
  CALL(close(open("cap.d", O_RDONLY | O_TRUNC)));
  show("cap.d");
  CALL(unlink("cap.d"));
}

void cases_status(void) {
  statuses();
  changes();
  allowed();
  times();
  slashes();
}
