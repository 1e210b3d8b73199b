// is_static_program() is also called between vfork and exec, so it must not allocate memory.
#include "base/os/static_program.hpp"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sheaf {

namespace {

// Returns whether the file is an ELF program that ignores preloads. Such a program has no dynamic loader, or
// has privileges for which the loader ignores preloads.
bool escapes(const char* path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  Elf64_Ehdr header;
  struct stat status;
  bool loaded = true;
  if (fstat(fd, &status) == 0 && pread(fd, &header, sizeof header, 0) == ssize_t(sizeof header) &&
      memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64) {
    loaded = false;
    for (int i = 0; i < header.e_phnum && !loaded; ++i) {
      Elf64_Phdr part;
      const auto at = off_t(header.e_phoff) + i * off_t(header.e_phentsize);
      if (pread(fd, &part, sizeof part, at) != ssize_t(sizeof part)) break;
      loaded = part.p_type == PT_INTERP;
    }
    loaded = loaded && !(status.st_mode & (S_ISUID | S_ISGID));
  }
  close(fd);
  return !loaded;
}

}  // namespace

bool is_static_program(const char* name) noexcept {
  if (strchr(name, '/')) return escapes(name);
  const char* path = getenv("PATH");
  for (path = path ? path : "/bin:/usr/bin"; *path;) {
    const size_t n = strcspn(path, ":");
    char whole[PATH_MAX];
    if (n > 0 && n + strlen(name) + 2 < sizeof whole) {
      memcpy(whole, path, n);
      whole[n] = '/';
      strcpy(whole + n + 1, name);
      if (access(whole, X_OK) == 0) return escapes(whole);
    }
    path += n + (path[n] == ':');
  }
  return false;
}

}  // namespace sheaf
