#include "capture/shared_names.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

namespace sheaf {

void capture_prefix(uint64_t rules, char (&name)[64]) noexcept {
  snprintf(name, sizeof name, "/dev/shm/sheaf-capture.%d.%016llx.", int(geteuid()),
           static_cast<unsigned long long>(rules));
}

void remove_capture_memory(uint64_t rules) noexcept {
  char prefix[64];
  capture_prefix(rules, prefix);
  const int slots = open((std::string(prefix) + "slots").c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  const bool unused = slots < 0 || flock(slots, LOCK_EX | LOCK_NB) == 0;
  DIR* const all = unused ? opendir("/dev/shm") : nullptr;
  while (const dirent* const entry = all ? readdir(all) : nullptr) {
    const std::string name = std::string("/dev/shm/") + entry->d_name;
    if (name.starts_with(prefix)) unlink(name.c_str());
  }
  if (all) closedir(all);
  if (slots >= 0) close(slots);
}

bool first_of_job(uint64_t rules) noexcept {
  char prefix[64];
  char name[80];
  capture_prefix(rules, prefix);
  snprintf(name, sizeof name, "%stold", prefix);
  const int fd = open(name, O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

}  // namespace sheaf
