#include "streams/preload/descriptors.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "streams/preload/errors.hpp"
#include "streams/preload/fork_mutex.hpp"
#include "streams/preload/locks.hpp"
#include "streams/preload/own_descriptors.hpp"
#include "streams/preload/real.hpp"

namespace sheaf::preload {

constinit std::atomic<OpenFile*> descriptor_table[max_descriptors] = {};
constinit OpenFile own_mark{};

namespace {

constexpr int closing = -1;  // value of `uses` while the last user closes the file

constinit std::atomic<OpenFile*> all_files{nullptr};
constinit std::atomic<int> highest{-1};
constinit std::atomic<pid_t> process{0};

void note_highest(int fd) {
  int most = highest.load();
  while (fd > most && !highest.compare_exchange_weak(most, fd)) continue;
}

void note_process() { process.store(getpid()); }

constinit uint64_t forks = 0;

// State of the forking thread, which is inside from before_fork() to the end of in_parent() or in_child().
// These handlers enclose those of the containers. A signal handler of the program therefore never runs while
// its own thread holds locks for the fork.
thread_local constinit Entered forking __attribute__((tls_model("initial-exec"))) = {};

void before_fork() {
  enter(forking);
  ForkMutex::lock_all();
  lock_slots();
  ++forks;
  for (OpenFile* file = all_files.load(); file; file = file->next) {
    Slot* const slot = file->slot.load();
    if (file->descriptors.load() == 0 || !slot) continue;
    slot->holders.fetch_add(1);
    file->counted.store(forks);
  }
}

void in_parent() {
  ForkMutex::unlock_all();
  leave(forking);
}

// Gives the child its own state after a fork. before_fork() has counted the child as a holder of each open
// file. If another thread opened a file between the count and the fork, the child is no holder of the slot,
// and the slot may soon be reassigned. Such a file gets a private copy of the slot.
void in_child() {
  ForkMutex::unlock_all();
  note_process();
  forget_process_locks();
  for (OpenFile* file = all_files.load(); file; file = file->next)
    if (Slot* const slot = file->slot.load(); slot && state::is_shared(slot) && file->counted.load() != forks)
      file->slot.store(state::copy_of(*slot));
  leave(forking);
}

void close_all_of(OpenFile& file) {
  file.stream.reset();
  file.set.reset();
  file.counted.store(0);
  if (Slot* const slot = file.slot.exchange(nullptr)) state::release(slot);
  if (const int fd = file.locks.exchange(-1); fd >= 0) close_own_descriptor(fd);
}

}  // namespace

void watch_forks() noexcept {
  if (process.load() != 0) return;
  note_process();
  streams::ContainerSet::watch_forks();
  pthread_atfork(before_fork, in_parent, in_child);
}

Use::Use(int fd) noexcept {
  for (;;) {
    OpenFile* const found = descriptor_table[fd].load();
    if (!found || found == &own_mark) return;
    int uses = found->uses.load();
    while (uses > 0 && !found->uses.compare_exchange_weak(uses, uses + 1)) continue;
    if (uses > 0 && descriptor_table[fd].load() == found) {
      file_ = found;
      return;
    }
    if (uses > 0) unuse(found);
  }
}

Use::~Use() {
  if (file_) unuse(file_);
}

bool is_usable(int fd) noexcept {
  const Use file(fd);
  return file && !(file->flags() & O_PATH);
}

OpenFile* make_open_file() noexcept {
  for (OpenFile* file = all_files.load(); file; file = file->next) {
    int free = 0;
    if (file->uses.load() == 0 && file->uses.compare_exchange_strong(free, 1)) return file;
  }
  auto* const made = new (std::nothrow) OpenFile;
  if (!made) {
    errno = ENOMEM;
    return nullptr;
  }
  made->uses.store(1);
  made->next = all_files.load();
  while (!all_files.compare_exchange_weak(made->next, made)) continue;
  return made;
}

void unuse(OpenFile* file) noexcept {
  int uses = file->uses.load();
  while (!file->uses.compare_exchange_weak(uses, uses > 1 ? uses - 1 : closing)) continue;
  if (uses > 1) return;
  close_all_of(*file);
  file->written.store(false);
  file->uses.store(0);
}

void install(int fd, OpenFile* file) noexcept { let_go(exchange(fd, file)); }

OpenFile* exchange(int fd, OpenFile* file) noexcept {
  if (file) {
    file->uses.fetch_add(1);
    file->descriptors.fetch_add(1);
    note_highest(fd);
  }
  return descriptor_table[fd].exchange(file);
}

void put_back(int fd, OpenFile* file, OpenFile* before) noexcept {
  OpenFile* found = file;
  const bool there = descriptor_table[fd].compare_exchange_strong(found, before);
  let_go(there ? file : before);
}

int let_go(OpenFile* file) noexcept {
  if (!file || file == &own_mark) return 0;
  int error = 0;
  if (file->written.exchange(false)) error = errno_of([&] { file->stream->flush(); });
  file->descriptors.fetch_sub(1);
  unuse(file);
  return error;
}

bool borrows_memory() noexcept {
  const pid_t known = process.load();
  return known != 0 && known != getpid();
}

void lock_slots() noexcept {
  state::hand_on_lock();
  const bool borrowed = borrows_memory();  // a child of vfork(2) may have unlisted descriptors
  const int last = std::max(highest.load(), borrowed ? 255 : -1);
  for (int fd = 0; fd <= last; ++fd) {
    const OpenFile* const file = descriptor_table[fd].load();
    if (file != &own_mark && (file || borrowed)) state::lock(fd);
  }
}

int highest_descriptor() noexcept { return highest.load(); }

int own_descriptor(int fd, int above) noexcept {
  if (fd < 0) return fd;
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t most = limit.rlim_cur < max_descriptors ? limit.rlim_cur : max_descriptors;
  const int lowest = int(most > 2048 ? 1000 : most / 2);
  const int moved = real::fcntl(fd, F_DUPFD_CLOEXEC, std::max(lowest, above + 1));
  if (moved >= 0) real::close(fd);
  const int kept = moved >= 0 ? moved : fd;
  keep_as_own_descriptor(kept);
  return kept;
}

void keep_as_own_descriptor(int fd) noexcept {
  note_highest(fd);
  descriptor_table[fd].store(&own_mark);
}

void close_own_descriptor(int fd) noexcept {
  descriptor_table[fd].store(nullptr);
  real::close(fd);
}

bool is_own_descriptor(int fd) noexcept {
  return static_cast<unsigned>(fd) < max_descriptors &&
         descriptor_table[fd].load(std::memory_order_relaxed) == &own_mark;
}

}  // namespace sheaf::preload
