#include "cases.h"

#include <glob.h>
#include <sys/resource.h>

static void removing(void) {
  char room[8] = "";
  CALL(unlink("cap.none"));
  const int fd = file_with("cap.u", "still");
  CALL(unlink("cap.u/"));
  CALL(rmdir("cap.u"));
  CALL(unlink("cap.u"));
  CALL(pread(fd, room, 5, 0));
  printf("  %s\n", room);
  CALL(write(fd, " here", 5));
  struct stat status;
  CALL(fstat(fd, &status));
  VALUE(status.st_nlink);
  VALUE(status.st_size);
  close(file_with("cap.u", "other"));
  show("cap.u");
  CALL(pread(fd, room, 5, 5));
  CALL(close(fd));
  CALL(remove("cap.u"));
  CALL(remove("cap.u"));
}

static void renaming(void) {
  char room[8] = "";
  const int fd = file_with("cap.1", "one");
  CALL(rename("cap.1", "cap.2"));
  show_status("cap.1");
  show("cap.2");
  CALL(write(fd, " more", 5));
  show("cap.2");
  close(file_with("cap.3", "three"));
  CALL(renameat2(AT_FDCWD, "cap.3", AT_FDCWD, "cap.2", RENAME_NOREPLACE));
  CALL(rename("cap.3", "cap.2"));
  show("cap.2");
  CALL(pread(fd, room, 3, 0));
  CALL(close(fd));
  CALL(rename("cap.none", "cap.2"));
  CALL(rename("cap.2", "cap.2"));
  CALL(rename("cap.2", "nowhere/cap.2"));
  CALL(mkdir("dir", 0755));
  CALL(rename("cap.2", "dir"));
  CALL(rename("dir", "cap.2"));
  CALL(rmdir("dir"));
  CALL(unlink("cap.2"));
}

static void borders(void) {
  close(file_with("plain", "plain"));
  CALL(rename("plain", "cap.in"));
  show("cap.in");
  show_status("plain");
  CALL(rename("cap.in", "out"));
  show("out");
  show_status("cap.in");
  close(file_with("cap.in", "again"));
  CALL(rename("out", "cap.in"));
  show("cap.in");
  close(file_with("out", "will go"));
  CALL(rename("cap.in", "out"));
  show("out");
  CALL(unlink("out"));
  const int fd = file_with("plain", "open ");
  CALL(rename("plain", "cap.open"));
  CALL(write(fd, "still", 5));
  CALL(close(fd));
  show("cap.open");
  CALL(unlink("cap.open"));
}

/* After a rename, open descriptors must still write the file, at its new place. */
static void leaving(void) {
  char room[64] = "";
  const int fd = file_with("cap.go", "begin ");
  const int log = open("cap.go", O_WRONLY | O_APPEND);
  CALL(rename("cap.go", "out"));
  CALL(write(fd, "more ", 5));
  CALL(write(log, "log ", 4));
  if (fork() == 0) {
    (void)!write(fd, "kid ", 4);
    _exit(0);
  }
  wait(NULL);
  CALL(lseek(fd, 0, SEEK_CUR));
  CALL(pread(fd, room, sizeof room, 0));
  printf("  %s\n", room);
  CALL(ftruncate(fd, 12));
  CALL(lseek(fd, 2, SEEK_END));
  CALL(write(fd, "end", 3));
  CALL(fsync(fd));
  CALL(fchmod(fd, 0600));
  struct stat status;
  CALL(fstat(fd, &status));
  VALUE(status.st_size);
  VALUE(status.st_nlink);
  show_status("cap.go");
  show("out");
  close(file_with("cap.go", "another"));
  show("out");
  show("cap.go");
  CALL(unlink("cap.go"));
  CALL(unlink("out"));
  CALL(write(fd, "gone", 4));
  CALL(fstat(fd, &status));
  VALUE(status.st_nlink);
  CALL(close(log));
  CALL(close(fd));
  FILE* const stream = fopen("cap.stream", "w+");
  CALL(fputs("first ", stream));
  CALL(rename("cap.stream", "out"));
  CALL(fputs("second", stream));
  CALL(fflush(stream));
  show("out");
  rewind(stream);
  CALL(fgets(room, sizeof room, stream) ? (int)strlen(room) : -1);
  CALL(fclose(stream));
  CALL(unlink("out"));
}

static void listing(void) {
  CALL(mkdir("list", 0755));
  show_directory("list");
  close(file_with("list/cap.b", ""));
  close(file_with("list/cap.a", ""));
  close(file_with("list/plain", ""));
  show_directory("list");
  CALL(rmdir("list"));
  CALL(rename("list", "moved") == 0 || errno == EXDEV ? 0 : -1);
  rename("moved", "list");
  DIR* const all = opendir("list");
  int n = 0, regular = 0;
  struct dirent* entry;
  while ((entry = readdir(all))) {
    ++n;
    regular += entry->d_type == DT_REG;
  }
  VALUE(n);
  VALUE(regular);
  rewinddir(all);
  const long begin = telldir(all);
  n = 0;
  while (readdir(all)) ++n;
  VALUE(n);
  seekdir(all, begin);
  n = 0;
  while (readdir(all)) ++n;
  VALUE(n);
  CALL(closedir(all));
  CALL(opendir("list/cap.a") ? 0 : -1);
  CALL(opendir("list/none") ? 0 : -1);
  glob_t found;
  CALL(glob("list/cap.*", 0, NULL, &found));
  for (size_t i = 0; i < found.gl_pathc; ++i) printf("  %s\n", found.gl_pathv[i]);
  globfree(&found);
  CALL(unlink("list/cap.a"));
  CALL(unlink("list/cap.b"));
  CALL(unlink("list/plain"));
  show_directory("list");
  CALL(rmdir("list"));
}

static void taken(void) {
  close(file_with("cap.t", "t"));
  CALL(mkdir("cap.t", 0755));
  CALL(mkfifo("cap.t", 0644));
  CALL(symlink("x", "cap.t"));
  CALL(link("cap.none", "cap.t2"));
  char room[20];
  CALL(readlink("cap.t", room, sizeof room));
  CALL(chdir("cap.t"));
  char* const whole = realpath("./cap.t", NULL);
  VALUE(whole && strcmp(whole + strlen(whole) - 6, "/cap.t") == 0);
  free(whole);
  CALL(unlink("cap.t"));
}

/* A directory may replace another directory only if that is empty. */
static void over_directories(void) {
  CALL(mkdir("above", 0755));
  CALL(mkdir("full", 0755));
  close(file_with("full/cap.f", "f"));
  CALL(rename("above", "full"));
  show_directory("full");
  CALL(unlink("full/cap.f"));
  CALL(rename("above", "full"));
  CALL(rmdir("full"));
}

/* No call may treat a file as a directory. */
static void below_files(void) {
  struct stat status;
  char room[8];
  close(file_with("cap.f", "file"));
  close(file_with("plain", "plain"));
  CALL(symlink("cap.f", "lf"));
  static const char* const names[] = {"cap.f/x",  "cap.f/cap.x", "cap.f/x/y", "cap.f/.",
                                      "cap.f/..", "cap.f//x",    "lf/x",      "lf/cap.x"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    const char* const name = names[i];
    CALL(open(name, O_RDONLY));
    CALL(open(name, O_RDONLY | O_NOFOLLOW));
    CALL(open(name, O_WRONLY | O_CREAT, 0644));
    CALL(open(name, O_WRONLY | O_CREAT | O_EXCL, 0644));
    CALL(stat(name, &status));
    CALL(lstat(name, &status));
    CALL(access(name, F_OK));
    CALL(faccessat(AT_FDCWD, name, F_OK, AT_SYMLINK_NOFOLLOW));
    CALL(truncate(name, 1));
    CALL(chmod(name, 0600));
    CALL(utimensat(AT_FDCWD, name, NULL, AT_SYMLINK_NOFOLLOW));
    CALL(unlink(name));
    CALL(unlinkat(AT_FDCWD, name, AT_REMOVEDIR));
    CALL(remove(name));
    CALL(rmdir(name));
    CALL(mkdir(name, 0755));
    CALL(mkfifo(name, 0644));
    CALL(symlink("plain", name));
    CALL(link("plain", name));
    CALL(link(name, "new"));
    CALL(rename(name, "new"));
    CALL(rename("plain", name));
    CALL(rename("cap.f", name));
    CALL(readlink(name, room, sizeof room));
    CALL(chdir(name));
    CALL(opendir(name) ? 0 : -1);
    CALL(realpath(name, NULL) ? 0 : -1);
  }
  CALL(unlink("lf"));
  CALL(unlink("cap.f"));
  CALL(unlink("plain"));
}

/* The contents of a directory must move with it, and open files must stay valid. */
static void directories_renamed(void) {
  CALL(mkdir("dir", 0755));
  CALL(mkdir("dir/sub", 0755));
  const int fd = file_with("dir/cap.1", "one");
  close(file_with("dir/sub/cap.2", "two"));
  close(file_with("dir/plain", "plain"));
  CALL(rename("dir", "other"));
  show("other/cap.1");
  show("dir/cap.1");
  show("other/sub/cap.2");
  CALL(write(fd, " more", 5));
  show("other/cap.1");
  show_directory("other");
  show_directory("other/sub");
  CALL(mkdir("dir", 0755));
  CALL(renameat2(AT_FDCWD, "other", AT_FDCWD, "dir", RENAME_NOREPLACE));
  CALL(rename("other/", "dir/"));
  show("dir/sub/cap.2");
  CALL(mkdir("full", 0755));
  close(file_with("full/cap.9", "nine"));
  CALL(rename("dir", "full"));
  CALL(renameat2(AT_FDCWD, "dir", AT_FDCWD, "full", RENAME_NOREPLACE));
  CALL(rename("dir", "dir/sub/x"));
  CALL(rename("dir", "dir"));
  CALL(rename("dir", "dir/plain"));
  CALL(rename("dir", "full/cap.9"));
  CALL(rename("dir", "nowhere/x"));
  CALL(rename("dir/cap.1", "full"));
  CALL(rename("full", "dir/sub/full"));
  show("dir/sub/full/cap.9");
  CALL(symlink("dir", "link"));
  CALL(rename("link", "link2"));
  show("link2/cap.1");
  CALL(rename("link2/", "link3"));
  CALL(chdir("dir/sub"));
  CALL(rename("../../dir", "../../moved"));
  show("cap.2");
  close(file_with("cap.3", "three"));
  CALL(chdir("../.."));
  show("moved/sub/cap.3");
  show("moved/cap.1");
  CALL(close(fd));
  CALL(system("find . | sort; rm -r moved link2; ls"));
}

/* Another program renames a directory. Open files, and a program inside it, must continue under the new
 * name. */
static void directories_renamed_by_others(void) {
  CALL(mkdir("home", 0755));
  CALL(mkdir("home/in", 0755));
  close(file_with("home/in/cap.1", "one"));
  DIR* const shown = opendir("home/in");
  int entries = 0;
  CALL(chdir("home/in"));
  show("cap.1");
  CALL(system("mv ../../home ../../away"));
  show("cap.1");
  close(file_with("cap.2", "two"));
  CALL(system("ls ../../away/in; cat ../../away/in/cap.2; echo"));
  CALL(rename("cap.2", "cap.3"));
  CALL(access("cap.3", F_OK));
  CALL(chdir("../.."));
  rewinddir(shown);
  while (readdir(shown)) ++entries;
  VALUE(entries);
  CALL(closedir(shown));
  CALL(system("rm -r away; ls"));
}

/* Calls without a free descriptor must fail as the system's calls do. */
static void no_descriptors(void) {
  CALL(mkdir("d", 0755));
  close(file_with("d/cap.1", "one"));
  const int first = dup(0);
  close(first);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const struct rlimit few = {(rlim_t)first, (rlim_t)first};
    struct stat status;
    setrlimit(RLIMIT_NOFILE, &few);
    CALL(stat("d/cap.1", &status));
    CALL(mkdir("d/cap.1", 0755));
    CALL(rmdir("d"));
    CALL(rename("d", "e"));
    CALL(stat("e/cap.1", &status));
    CALL(open("e/cap.1", O_RDONLY));
    fflush(stdout);
    _exit(0);
  }
  VALUE(ended(child));
  CALL(system("cat e/cap.1; rm -r e; ls"));
}

static void exchanged(void) {
  const int fd = file_with("cap.a", "first");
  close(file_with("cap.b", "the second"));
  CALL(renameat2(AT_FDCWD, "cap.a", AT_FDCWD, "cap.b", RENAME_EXCHANGE));
  show("cap.a");
  show("cap.b");
  CALL(pwrite(fd, "F", 1, 0));
  show("cap.b");
  CALL(renameat2(AT_FDCWD, "cap.a", AT_FDCWD, "cap.a", RENAME_EXCHANGE));
  CALL(renameat2(AT_FDCWD, "cap.a", AT_FDCWD, "cap.none", RENAME_EXCHANGE));
  CALL(renameat2(AT_FDCWD, "cap.none", AT_FDCWD, "cap.a", RENAME_EXCHANGE));
  CALL(renameat2(AT_FDCWD, "cap.a", AT_FDCWD, "cap.b", RENAME_EXCHANGE | RENAME_NOREPLACE));
  show("cap.a");
  show_directory(".");
  CALL(close(fd));
  CALL(unlink("cap.a"));
  CALL(unlink("cap.b"));
}

/* A descriptor is opened before its file gets a captured name. It must read data that is written later. */
static void read_from_before(void) {
  close(file_with("early", "first"));
  const int reader = open("early", O_RDONLY);
  CALL(rename("early", "cap.early"));
  const int writer = open("cap.early", O_WRONLY | O_APPEND);
  CALL(write(writer, " second", 7));
  char text[32] = "";
  CALL(pread(reader, text, sizeof text - 1, 0));
  puts(text);
  CALL(close(reader));
  CALL(close(writer));
  CALL(unlink("cap.early"));
}

void cases_names(void) {
  removing();
  renaming();
  borders();
  leaving();
  listing();
  taken();
  over_directories();
  below_files();
  directories_renamed();
  directories_renamed_by_others();
  no_descriptors();
  exchanged();
  read_from_before();
}
