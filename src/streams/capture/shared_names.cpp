#include "streams/capture/shared_names.hpp"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace sheaf::streams {

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

bool is_marked(const char* name) noexcept {
  struct stat found;
  return lstat(name, &found) == 0 && found.st_uid == geteuid();
}

// Begin of the name of the file that marks a RunOfCapture; the number of its process follows.
constexpr const char* run_begin = "run.";

std::vector<std::string> names_in_memory(const std::string& prefix) {
  std::vector<std::string> names;
  DIR* const all = opendir("/dev/shm");
  while (const dirent* const entry = all ? readdir(all) : nullptr) {
    std::string name = std::string("/dev/shm/") + entry->d_name;
    if (name.starts_with(prefix)) names.push_back(std::move(name));
  }
  if (all) closedir(all);
  return names;
}

// Returns whether one of `names` marks a RunOfCapture of a living process.
bool has_living_run(const std::vector<std::string>& names, const std::string& runs) {
  return std::ranges::any_of(names, [&](const std::string& name) {
    if (!name.starts_with(runs) || !is_marked(name.c_str())) return false;
    const pid_t process = atoi(name.c_str() + runs.size());
    return process > 0 && (kill(process, 0) == 0 || errno == EPERM);
  });
}

// Removes the files of first_of_job() unless a run with these rules exists.
void remove_marks(uint64_t rules) {
  char prefix[64];
  capture_prefix(rules, prefix);
  const std::vector<std::string> marks = names_in_memory(std::string(prefix) + mark_begin);
  if (has_living_run(marks, std::string(prefix) + mark_begin + run_begin)) return;
  for (const std::string& mark : marks) unlink(mark.c_str());
}

}  // namespace

void remove_capture_memory(uint64_t rules) noexcept {
  char begin[64];
  capture_prefix(rules, begin);
  const std::string prefix = begin;
  const int slots = open((prefix + "slots").c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (slots < 0 || flock(slots, LOCK_EX | LOCK_NB) == 0) {
    for (const std::string& name : names_in_memory(prefix))
      if (!name.starts_with(prefix + mark_begin)) unlink(name.c_str());
    remove_marks(rules);
  }
  if (slots >= 0) close(slots);
}

RunOfCapture::RunOfCapture(uint64_t rules) noexcept : rules_(rules) {
  first_of_job(rules_, (run_begin + std::to_string(getpid())).c_str());
}

RunOfCapture::~RunOfCapture() {
  MarkName name;
  name_mark(rules_, (run_begin + std::to_string(getpid())).c_str(), name);
  if (is_marked(name)) unlink(name);
  remove_marks(rules_);
  remove_capture_memory(rules_);
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
  MarkName name;
  name_mark(rules, what, name);
  return is_marked(name);
}

bool first_of_job(uint64_t rules, const char* what) noexcept {
  MarkName name;
  name_mark(rules, what, name);
  const int fd = open(name, O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

}  // namespace sheaf::streams
