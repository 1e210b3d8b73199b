#include "streams/preload/names/places.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <functional>

#include "base/thread_value.hpp"
#include "storage/filesystem/traits.hpp"
#include "streams/preload/inside.hpp"
#include "streams/preload/own_descriptors.hpp"
#include "streams/preload/real.hpp"

namespace sheaf::preload {

namespace {

// Cached canonical path of a directory that this thread has used in a name. A cache hit saves three system
// calls per name.
struct KnownDirectory {
  uint32_t generation = 0;  // 0: empty entry
  uint16_t given_size = 0, canonical_size = 0;
  bool apart = false;           // hosts may cache the directory independently
  bool straight = false;        // the given path is canonical
  std::atomic<int> folder{-1};  // descriptor of the directory, only if `apart`; else -1
  int64_t walked = 0;           // time of the last path walk, in milliseconds
  dev_t device = 0;
  ino_t inode = 0;
  uint64_t current = 0;  // for a relative path: hash_of_current() when the entry was made; else 0
  char given[200];
  char canonical[300];
};
constexpr size_t known_directories = 8;
thread_local constinit KnownDirectory cached[known_directories]
    __attribute__((tls_model("initial-exec"))) = {};
constinit std::atomic<uint32_t> generation{1};

size_t hash_of(std::string_view text) {
  size_t hash = text.size();
  for (const char c : text) hash = hash * 31 + static_cast<unsigned char>(c);
  return hash;
}

// Does what ask_system() does, without opening a descriptor. ask_system() calls it if the limit of open
// descriptors is reached.
size_t walk(int at, const char* path, char* room, size_t size, struct stat& status) {
  char whole[PATH_MAX], found[PATH_MAX];
  const bool counts = path[0] != '/' && at != AT_FDCWD;
  const int written = counts ? snprintf(whole, sizeof whole, "/proc/self/fd/%d/%s", at, path)
                             : snprintf(whole, sizeof whole, "%s", path);
  if (written >= PATH_MAX || !realpath(whole, found) || stat(found, &status) != 0 || !S_ISDIR(status.st_mode))
    return 0;
  return snprintf(room, size, "%s", found) < int(size) ? strlen(room) : 0;
}

// Stores the canonical path of the directory `path` in `room` and its status in `status`. Both describe the
// same directory, even if it is renamed during the call. Returns the length of the path, or 0 if `path` is no
// directory or was removed.
size_t ask_system(int at, const char* path, char* room, size_t size, struct stat& status) {
  const int fd = real::openat(at, path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
  if (fd < 0) return errno == EMFILE || errno == ENFILE ? walk(at, path, room, size, status) : 0;
  const ssize_t n = real::readlink(DescriptorPath(fd).text, room, size - 1);
  const bool good = n > 0 && room[0] == '/' && fstat(fd, &status) == 0 && status.st_nlink > 0;
  real::close(fd);
  if (!good) return 0;
  room[n] = '\0';
  return size_t(n);
}

// Returns a hash of the path of the current directory. Not cached, because another program may rename the
// directory.
uint64_t hash_of_current() {
  char room[PATH_MAX];
  const long n = syscall(SYS_getcwd, room, sizeof room);
  return n > 0 ? std::hash<std::string_view>()({room, size_t(n)}) : 0;
}

// Returns whether `path`, relative to `fd`, still names `directory`. If `path` is empty, checks the directory
// that `fd` is open on. Compares only device and inode number, so the kernel need not query a file server for
// size and times.
bool is_directory(int fd, const char* path, const KnownDirectory& directory) {
  struct statx now;
  const int flags = AT_STATX_DONT_SYNC | (*path ? 0 : AT_EMPTY_PATH);
  return statx(fd, path, flags, STATX_INO, &now) == 0 &&
         makedev(now.stx_dev_major, now.stx_dev_minor) == directory.device && now.stx_ino == directory.inode;
}

// Closes the cached descriptors of an ending thread. Destructors of the thread that run later may cache new
// ones.
void close_folders(void*) {
  for (KnownDirectory& entry : cached)
    if (const int fd = entry.folder.exchange(-1); fd >= 0) close_own_descriptor(fd);
}
constinit ThreadKey threads_with_folders(close_folders);

// Caches `fd` until this thread ends or the entry is reused, and returns `fd`. If memory is too short to
// register the thread for close_folders(), closes `fd` and returns -1.
int keep_folder(KnownDirectory& entry, int fd) {
  if (fd >= 0 && !threads_with_folders.get() && !threads_with_folders.set(cached)) {
    close_own_descriptor(fd);
    fd = -1;
  }
  if (const int before = entry.folder.exchange(fd); before >= 0) close_own_descriptor(before);
  return fd;
}

int64_t milliseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
}

// Returns whether the directory that `fd` is open on still has the path of the entry. Reads that path from
// the kernel, which updates it on renames and removals on this host. To detect changes by other hosts,
// returns false if the path was last looked up more than one second ago. File system clients usually cache
// names for as long.
bool is_still_named(const KnownDirectory& entry, int fd) {
  constexpr int64_t kept_for = 1000;
  if (!entry.straight || milliseconds() - entry.walked > kept_for) return false;
  char room[sizeof entry.canonical];
  const ssize_t n = real::readlink(DescriptorPath(fd).text, room, sizeof room);
  return n == entry.canonical_size && memcmp(room, entry.canonical, size_t(n)) == 0;
}

bool is_still(KnownDirectory& entry, const char* path, int* folder) {
  if (path[0] != '/' && entry.current != hash_of_current()) return false;
  if (!folder || !entry.apart) return is_directory(AT_FDCWD, path, entry);
  *folder = entry.folder.load();
  if (*folder >= 0 && is_still_named(entry, *folder)) return true;
  const int64_t begin = milliseconds();
  *folder = own_descriptor(real::openat(AT_FDCWD, path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0));
  const bool same = *folder >= 0 && is_directory(*folder, "", entry);
  *folder = keep_folder(entry, *folder);
  entry.walked = begin;
  if (!same) *folder = -1;
  return same;
}

// Stores the canonical path of `given`, which a NUL terminates, in `room` and its device in `device`. Returns
// the length of the path, or 0 if `given` is no directory. Uses a cached path only if `given` still names the
// same directory, because another process may have changed a symbolic link.
size_t canonical_of(int at, std::string_view given, char* room, size_t size, dev_t& device, int* folder) {
  const bool keep = at == AT_FDCWD && given.size() < sizeof(KnownDirectory::given);
  KnownDirectory* const entry = keep ? &cached[hash_of(given) % known_directories] : nullptr;
  if (entry && entry->generation == generation.load(std::memory_order_relaxed) &&
      std::string_view(entry->given, entry->given_size) == given) {
    if (is_still(*entry, given.data(), folder)) {
      memcpy(room, entry->canonical, entry->canonical_size + 1U);
      device = entry->device;
      return entry->canonical_size;
    }
  }
  struct stat status {};
  const size_t n = ask_system(at, given.data(), room, size, status);
  device = status.st_dev;
  if (entry && n > 0 && n < sizeof entry->canonical) {
    entry->generation = 0;  // invalid until complete, because a signal handler may read it
    std::atomic_signal_fence(std::memory_order_seq_cst);
    memcpy(entry->given, given.data(), given.size() + 1);
    entry->given_size = uint16_t(given.size());
    memcpy(entry->canonical, room, n + 1);
    entry->canonical_size = uint16_t(n);
    entry->device = status.st_dev;
    entry->inode = status.st_ino;
    entry->apart = may_be_shared_by_hosts(entry->given);
    entry->current = given[0] == '/' ? 0 : hash_of_current();
    std::string_view straight = given;
    if (straight.ends_with("/.")) straight.remove_suffix(straight.size() > 2 ? 2 : 1);
    entry->straight = straight == std::string_view(room, n);
    keep_folder(*entry, -1);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    entry->generation = generation.load(std::memory_order_relaxed);
  }
  return n;
}

bool join(Place& place, std::string_view last) {
  if (place.size == 1) place.size = 0;  // the path of the root is empty here
  if (place.size + 1 + last.size() >= sizeof place.path) return false;
  place.path[place.size++] = '/';
  memcpy(place.path + place.size, last.data(), last.size());
  place.size += last.size();
  place.path[place.size] = '\0';
  return true;
}

}  // namespace

bool match_canonical(std::string_view path, Place& place) noexcept {
  if (path.size() >= sizeof place.path) return false;
  if (path.data() != place.path) memcpy(place.path, path.data(), path.size());
  place.path[path.size()] = '\0';
  place.size = path.size();
  return match({place.path, place.size}, place.match);
}

bool find_place_of_candidate(int at, const char* path, Place& place, bool keep) noexcept {
  const std::string_view last = last_component(path);
  if (last.empty() || last == "." || last == ".." || last.size() > NAME_MAX) return false;
  place.slash = *(last.data() + last.size()) == '/';
  const KeptErrno kept;
  char given[PATH_MAX];
  size_t n = size_t(last.data() - path);
  if (n + 1 >= sizeof given) return false;
  memcpy(given, path, n);
  given[n++] = '.';  // requires search permission on the directory
  given[n] = '\0';
  const Inside inside;
  const int from = path[0] == '/' ? AT_FDCWD : at;
  place.size = canonical_of(from, {given, n}, place.path, sizeof place.path, place.device,
                            keep ? &place.folder : nullptr);
  return place.size != 0 && join(place, last) && match({place.path, place.size}, place.match);
}

size_t canonical_directory(int at, const char* path, char* room, size_t size) noexcept {
  const Inside inside;
  dev_t device = 0;
  return canonical_of(at, path, room, size, device, nullptr);
}

std::string canonical_name(int at, std::string_view name) {
  const std::string_view last = last_component(name);
  const std::string directory(name.data(), size_t(last.data() - name.data()));
  char room[PATH_MAX + 1];
  errno = ENOENT;
  const size_t n = canonical_directory(at, directory.empty() ? "." : directory.c_str(), room, sizeof room);
  if (n == 0) return {};
  return std::string(room, n) + (n == 1 ? "" : "/") + std::string(last);
}

void forget_directories() noexcept {
  if (generation.fetch_add(1) == UINT32_MAX) generation.fetch_add(1);
}

}  // namespace sheaf::preload
