// streams/preload/entries/directory: the entry points that list directories. They return the entries of the
// file system first, then the captured files. The library reads the captured entries of a DIR* when the
// program opens or rewinds it.
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "streams/preload/entries/captured_name.hpp"
#include "streams/preload/errors.hpp"
#include "streams/preload/files.hpp"
#include "streams/preload/fork_mutex.hpp"
#include "streams/preload/names/listing.hpp"
#include "streams/preload/real.hpp"

namespace sheaf::preload {

namespace {

namespace next {
constinit Real<DIR*(const char*)> opendir{"opendir"};
constinit Real<dirent*(DIR*)> readdir{"readdir64"};
}  // namespace next

constexpr long beyond = long{1} << 61;  // telldir(3) offset of captured entries; no file system uses it

struct Extra {
  std::vector<dirent> entries;
  size_t at = 0;
  bool reached = false;  // all entries of the file system have been returned
};

constinit ForkMutex directories_mutex{Guards::directories};
constinit std::atomic<int> shown{0};  // number of entries in `extras`
std::map<DIR*, Extra>& extras() {
  static auto* const all = new std::map<DIR*, Extra>;
  return *all;
}

// Reads the captured entries of `directory`. The caller must not hold `directories_mutex`: this function
// acquires locks of sets, and a fork acquires those before `directories_mutex`.
Extra read_extra(const std::string& directory) {
  Extra extra;
  list_directory(directory, [&](std::string_view last, uint64_t number) {
    dirent entry = {};
    if (last.size() >= sizeof entry.d_name) return;
    const streams::StreamStatus status{.number = number};
    struct stat as_file;
    fill(as_file, status, 0);
    entry.d_ino = as_file.st_ino;
    entry.d_reclen = sizeof entry;
    entry.d_type = DT_REG;
    memcpy(entry.d_name, last.data(), last.size());
    extra.entries.push_back(entry);
    extra.entries.back().d_off = beyond + long(extra.entries.size());
  });
  return extra;
}

// Returns the current path of the directory; empty if it cannot be determined.
std::string path_of(DIR* directory) {
  char path[PATH_MAX];
  const ssize_t n = real::readlink(DescriptorPath(dirfd(directory)).text, path, sizeof path - 1);
  return {path, size_t(std::max<ssize_t>(n, 0))};
}

DIR* with_captured(DIR* directory) {
  if (!directory || is_inside() || rules().empty()) return directory;
  const KeptErrno kept;
  const std::string path = path_of(directory);
  bool wanted = false;
  for (const Rule& rule : rules())
    wanted |=
        !path.empty() && (rule.view ? path.starts_with(rule.pattern) : streams::may_hold(rule.pattern, path));
  if (wanted) {
    const Inside inside;
    errno_of([&] {
      Extra extra = read_extra(path);
      const std::lock_guard guard(directories_mutex);
      extras()[directory] = std::move(extra);
      shown.store(int(extras().size()));
    });
  }
  return directory;
}

template <class Work>
bool on_inside(DIR* directory, const Work& work) {
  const std::lock_guard guard(directories_mutex);
  const auto found = extras().find(directory);
  if (found == extras().end()) return false;
  work(found->second);
  return true;
}

// Runs `work` on the captured entries of `directory`. Returns false if `directory` has none.
template <class Work>
bool on_extra(DIR* directory, const Work& work) {
  if (shown.load(std::memory_order_relaxed) == 0 || is_inside()) return false;
  const Inside inside;
  return on_inside(directory, work);
}

dirent* read_entry(DIR* directory) {
  bool over = false;
  on_extra(directory, [&](Extra& extra) { over = extra.reached; });
  const int error = errno;
  if (!over) {
    errno = 0;
    if (dirent* const entry = next::readdir(directory)) {
      errno = error;
      return entry;
    }
    if (errno != 0) return nullptr;
  }
  errno = error;
  dirent* result = nullptr;
  on_extra(directory, [&](Extra& extra) {
    extra.reached = true;
    if (extra.at < extra.entries.size()) result = &extra.entries[extra.at++];
  });
  return result;
}

DIR* open_directory(const char* path) {
  if (is_captured_name(AT_FDCWD, path)) return errno = ENOTDIR, nullptr;
  DIR* const plain = next::opendir(path);
  explained(AT_FDCWD, path, plain ? 0 : -1);
  return with_captured(plain);
}

int scan(DIR* directory, dirent*** names, int (*filter)(const dirent*),
         int (*compare)(const dirent**, const dirent**)) {
  if (!directory) return -1;
  std::vector<dirent*> found;
  bool memory = true;
  while (dirent* const entry = read_entry(directory)) {
    if (filter && !filter(entry)) continue;
    const size_t size = offsetof(dirent, d_name) + strlen(entry->d_name) + 1;
    auto* const copy = static_cast<dirent*>(malloc(size));
    memory = memory && copy;
    if (!memory) break;
    memcpy(copy, entry, size);
    found.push_back(copy);
  }
  closedir(directory);
  auto** const list = static_cast<dirent**>(malloc((found.size() + 1) * sizeof(dirent*)));
  if (!memory || !list) {
    for (dirent* const entry : found) free(entry);
    free(list);
    return failed(ENOMEM);
  }
  if (!found.empty()) memcpy(list, found.data(), found.size() * sizeof(dirent*));
  if (compare)
    qsort(list, found.size(), sizeof(dirent*), reinterpret_cast<int (*)(const void*, const void*)>(compare));
  *names = list;
  return int(found.size());
}

}  // namespace

SHEAF_ENTRY(DIR*, opendir, const char* path) { return open_directory(path); }
SHEAF_REPLACED(DIR*, fdopendir, int fd) {
  if (is_captured(fd)) return errno = ENOTDIR, nullptr;
  return with_captured(next::fdopendir(fd));
}
SHEAF_ENTRY_AND(dirent*, readdir, readdir64, DIR* directory) { return read_entry(directory); }
SHEAF_ENTRY_AND(int, readdir_r, readdir64_r, DIR* directory, dirent* entry, dirent** result) {
  const KeptErrno kept;
  errno = 0;
  dirent* const found = read_entry(directory);
  const int error = errno;
  if (found) memcpy(entry, found, offsetof(dirent, d_name) + strlen(found->d_name) + 1);
  *result = found ? entry : nullptr;
  return found ? 0 : error;
}
SHEAF_REPLACED(int, closedir, DIR* directory) {
  if (shown.load(std::memory_order_relaxed) > 0 && !is_inside()) {
    const Inside inside;
    const std::lock_guard guard(directories_mutex);
    extras().erase(directory);
    shown.store(int(extras().size()));
  }
  return next::closedir(directory);
}
SHEAF_REPLACED(void, rewinddir, DIR* directory) {
  if (on_extra(directory, [](const Extra&) {})) {
    const Inside inside;
    errno_of([&] {
      Extra now = read_extra(path_of(directory));
      on_inside(directory, [&](Extra& extra) { std::swap(extra, now); });
    });
  }
  next::rewinddir(directory);
}
SHEAF_REPLACED(long, telldir, DIR* directory) {
  long place = -1;
  on_extra(directory, [&](const Extra& extra) { place = extra.reached ? beyond + long(extra.at) : -1; });
  return place >= 0 ? place : next::telldir(directory);
}
SHEAF_REPLACED(void, seekdir, DIR* directory, long place) {
  const bool captured = on_extra(directory, [&](Extra& extra) {
    extra.reached = place >= beyond;
    extra.at = extra.reached ? size_t(place - beyond) : 0;
  });
  if (!captured || place < beyond) next::seekdir(directory, place);
}
SHEAF_ENTRY_AND(int, scandir, scandir64, const char* path, dirent*** names, int (*filter)(const dirent*),
                int (*compare)(const dirent**, const dirent**)) {
  return scan(open_directory(path), names, filter, compare);
}
SHEAF_ENTRY_AND(int, scandirat, scandirat64, int at, const char* path, dirent*** names,
                int (*filter)(const dirent*), int (*compare)(const dirent**, const dirent**)) {
  const int fd = real::openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  return fd < 0 ? explained(at, path, -1) : scan(with_captured(next::fdopendir(fd)), names, filter, compare);
}

namespace {

void close_for_glob(void* directory) { closedir(static_cast<DIR*>(directory)); }
dirent* read_for_glob(void* directory) { return read_entry(static_cast<DIR*>(directory)); }
void* open_for_glob(const char* path) { return open_directory(path); }

}  // namespace

SHEAF_REPLACED_AND(int, glob, glob64, const char* pattern, int flags, int (*failure)(const char*, int),
                   glob_t* found) {
  if (is_inside() || rules().empty() || (flags & GLOB_ALTDIRFUNC))
    return next::glob(pattern, flags, failure, found);
  found->gl_closedir = close_for_glob;
  found->gl_readdir = read_for_glob;
  found->gl_opendir = open_for_glob;
  found->gl_stat = [](const char* path, struct stat* status) { return stat(path, status); };
  found->gl_lstat = [](const char* path, struct stat* status) { return lstat(path, status); };
  return next::glob(pattern, flags | GLOB_ALTDIRFUNC, failure, found);
}

}  // namespace sheaf::preload
