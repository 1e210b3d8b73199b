/* Runs all cases in the current directory, with its files cap.* captured or not: cases [GROUP]. */
#include "cases.h"

int file_with(const char* name, const char* text) {
  const int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
  if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
    printf("cannot make %s: %s\n", name, strerror(errno));
  return fd;
}

int ended(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

void show(const char* name) {
  char room[200];
  const int fd = open(name, O_RDONLY);
  const ssize_t n = fd < 0 ? -1 : read(fd, room, sizeof room);
  printf("  %s: %zd bytes:", name, n);
  for (ssize_t i = 0; i < n; ++i)
    printf(room[i] >= ' ' && room[i] < 127 ? "%c" : "<%02x>", (unsigned char)room[i]);
  printf("\n");
  if (fd >= 0) close(fd);
}

void show_status(const char* name) {
  struct stat status;
  if (lstat(name, &status) != 0) {
    printf("  %s: %s\n", name, strerrorname_np(errno));
    return;
  }
  printf("  %s: mode %o size %lld links %d user %d group %d block %ld\n", name, status.st_mode,
         (long long)status.st_size, (int)status.st_nlink, (int)status.st_uid, (int)status.st_gid,
         (long)status.st_blksize);
}

void show_directory(const char* name) {
  struct dirent** entries = NULL;
  const int n = scandir(name, &entries, NULL, alphasort);
  printf("  %s has %d:", name, n);
  for (int i = 0; i < n; ++i) {
    printf(" %s", entries[i]->d_name);
    free(entries[i]);
  }
  free(entries);
  printf("\n");
}

static const struct {
  const char* name;
  void (*run)(void);
} groups[] = {
    {"forks", cases_forks},         {"standard", cases_standard}, {"open", cases_open},
    {"transfer", cases_transfer},   {"names", cases_names},       {"descriptors", cases_descriptors},
    {"stdio", cases_stdio},         {"wide", cases_wide},         {"status", cases_status},
    {"processes", cases_processes}, {"sharing", cases_sharing},   {"memory", cases_memory},
    {"links", cases_links},         {"sparse", cases_sparse},     {"programs", cases_programs},
};

int main(int argc, char** argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  umask(022);
  for (size_t i = 0; i < sizeof groups / sizeof groups[0]; ++i) {
    if (argc > 1 && strcmp(argv[1], groups[i].name) != 0) continue;
    printf("== %s\n", groups[i].name);
    groups[i].run();
  }
  return 0;
}
