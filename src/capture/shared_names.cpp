#include "capture/shared_names.hpp"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sheaf {

void capture_prefix(uint64_t rules, char (&name)[64]) noexcept {
  snprintf(name, sizeof name, "/dev/shm/sheaf-capture.%d.%016llx.", int(geteuid()),
           static_cast<unsigned long long>(rules));
}

namespace {

constexpr const char* mark_begin = "mark.";
using MarkName = char[96];
void name_mark(uint64_t rules, const char* what, MarkName& name) noexcept {
  char prefix[64];
  capture_prefix(rules, prefix);
  snprintf(name, sizeof name, "%s%s%s", prefix, mark_begin, what);
}

bool is_marked(uint64_t rules, const char* what) noexcept {
  MarkName name;
  name_mark(rules, what, name);
  struct stat found;
  return lstat(name, &found) == 0 && found.st_uid == geteuid();
}

}  // namespace

void remove_capture_memory(uint64_t rules, EndOf what) noexcept {
  char prefix[64];
  capture_prefix(rules, prefix);
  const int slots = open((std::string(prefix) + "slots").c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  const bool unused = slots < 0 || flock(slots, LOCK_EX | LOCK_NB) == 0;
  const bool keeps_marks = what == EndOf::process && is_marked(rules, "run");
  DIR* const all = unused ? opendir("/dev/shm") : nullptr;
  while (const dirent* const entry = all ? readdir(all) : nullptr) {
    const std::string name = std::string("/dev/shm/") + entry->d_name;
    const bool kept = keeps_marks && name.starts_with(std::string(prefix) + mark_begin);
    if (name.starts_with(prefix) && !kept) unlink(name.c_str());
  }
  if (all) closedir(all);
  if (slots >= 0) close(slots);
}

void note_pattern(uint64_t rules, int number) noexcept {
  const int error = errno;
  char what[24];
  snprintf(what, sizeof what, "pattern%d", number);
  first_of_job(rules, what);
  errno = error;
}

bool is_pattern_noted(uint64_t rules, int number) noexcept {
  char what[24];
  snprintf(what, sizeof what, "pattern%d", number);
  return is_marked(rules, what);
}

bool first_of_job(uint64_t rules, const char* what) noexcept {
  MarkName name;
  name_mark(rules, what, name);
  const int fd = open(name, O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

}  // namespace sheaf
