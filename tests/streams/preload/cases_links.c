#include <sys/time.h>

#include "cases.h"

/* Names of descriptors (/dev/fd/N) must refer to their files in calls of all kinds. */
static void by_descriptor_name(const char* directory) {
  char name[80], text[8] = "";
  const int fd = file_with("cap.d", "0123456789");
  snprintf(name, sizeof name, "%s/%d", directory, fd);
  struct stat status;
  VALUE(stat(name, &status));
  VALUE(status.st_size);
  VALUE(access(name, W_OK));
  VALUE(truncate(name, 6));
  VALUE(chmod(name, 0604));
  const struct timespec times[2] = {{100, 0}, {200, 0}};
  VALUE(utimensat(AT_FDCWD, name, times, 0));
  VALUE(chown(name, (uid_t)-1, (gid_t)-1));
  VALUE(fstat(fd, &status));
  VALUE(status.st_mtim.tv_sec);
  VALUE(status.st_size);
  const int more = open(name, O_WRONLY | O_APPEND);
  VALUE(write(more, "more", 4));
  close(more);
  const int again = open(name, O_RDONLY);
  VALUE(read(again, text, 7));
  printf("  %s\n", text);
  close(again);
  VALUE(close(fd));
  show("cap.d");
  show_status("cap.d");
  CALL(unlink("cap.d"));
}

static void written_through(void) {
  close(file_with("cap.a", "old"));
  CALL(symlink("cap.a", "latest"));
  CALL(symlink("latest", "cap.latest"));
  close(file_with("latest", "new"));
  show("cap.a");
  int fd = open("cap.latest", O_WRONLY | O_CREAT | O_APPEND, 0644);
  CALL(write(fd, " more", 5));
  CALL(fcntl(fd, F_GETFL));
  CALL(close(fd));
  show("cap.a");
  CALL(open("latest", O_WRONLY | O_CREAT | O_EXCL, 0644));
  CALL(open("latest", O_WRONLY | O_CREAT | O_NOFOLLOW, 0644));
  FILE* file = fopen("latest", "a");
  CALL(fputs(" stdio", file));
  CALL(fclose(file));
  show("cap.a");
  file = fopen("latest", "w+");
  CALL(fputs("anew", file));
  rewind(file);
  CALL(fgetc(file));
  CALL(fclose(file));
  show("cap.a");
  CALL(fopen("latest", "wx") ? 0 : -1);
  CALL(unlink("latest"));
  CALL(unlink("cap.latest"));
  CALL(unlink("cap.a"));
  CALL(symlink("cap.made", "latest"));
  fd = open("latest", O_WRONLY | O_CREAT, 0640);
  CALL(write(fd, "made", 4));
  CALL(close(fd));
  show("cap.made");
  show_status("cap.made");
  CALL(unlink("cap.made"));
  CALL(open("latest", O_WRONLY));
  CALL(unlink("latest"));
  CALL(symlink("other", "latest"));
  fd = open("latest", O_RDWR | O_CREAT, 0640);
  CALL(fcntl(fd, F_GETFL));
  CALL(close(fd));
  show_status("other");
  CALL(unlink("latest"));
  CALL(symlink("latest", "latest"));
  CALL(open("latest", O_RDWR | O_CREAT, 0640));
  CALL(unlink("latest"));
  file = fopen("other", "ae");
  CALL(fcntl(fileno(file), F_GETFL));
  CALL(fcntl(fileno(file), F_GETFD));
  CALL(fputs("text", file));
  CALL(fclose(file));
  show("other");
  CALL(open("other/", O_RDWR | O_CREAT, 0640));
  CALL(open(".", O_RDONLY | O_CREAT, 0640));
  CALL(unlink("other"));
}

static void changed_through(void) {
  struct stat status;
  close(file_with("cap.a", "0123456789"));
  CALL(symlink("cap.a", "lead"));
  CALL(chmod("lead", 0604));
  CALL(truncate("lead", 4));
  show_status("cap.a");
  const struct timeval old[2] = {{5, 0}, {6, 0}};
  CALL(utimes("lead", old));
  CALL(stat("cap.a", &status));
  VALUE(status.st_mtim.tv_sec);
  const struct timespec times[2] = {{100, 0}, {200, 0}};
  CALL(utimensat(AT_FDCWD, "lead", times, 0));
  CALL(stat("lead", &status));
  VALUE(status.st_mtim.tv_sec);
  CALL(utimensat(AT_FDCWD, "lead", times, AT_SYMLINK_NOFOLLOW));
  CALL(chown("lead", (uid_t)-1, (gid_t)-1));
  CALL(lchown("lead", (uid_t)-1, (gid_t)-1));
  CALL(fchownat(AT_FDCWD, "lead", (uid_t)-1, (gid_t)-1, 0));
  CALL(euidaccess("lead", R_OK));
  CALL(faccessat(AT_FDCWD, "lead", R_OK, AT_EACCESS));
  char* const whole = realpath("lead", NULL);
  VALUE(whole && strcmp(whole + strlen(whole) - 6, "/cap.a") == 0);
  free(whole);
  CALL(fchmodat(AT_FDCWD, "lead", 0600, 0));
  show_status("cap.a");
  CALL(unlink("cap.a"));
  CALL(chmod("lead", 0600));
  CALL(truncate("lead", 4));
  CALL(utimes("lead", old));
  CALL(realpath("lead", NULL) ? 0 : -1);
  CALL(euidaccess("lead", R_OK));
  CALL(unlink("lead"));
}

void cases_links(void) {
  char directory[40];
  snprintf(directory, sizeof directory, "/proc/%d/fd", (int)getpid());
  by_descriptor_name(directory);
  by_descriptor_name("/proc/self/fd");
  by_descriptor_name("/proc/thread-self/fd");
  by_descriptor_name("/dev/fd");
  written_through();
  changed_through();
}
