#include "base/os/host_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <new>
#include <thread>

#include "base/assert.hpp"
#include "base/error.hpp"

namespace sheaf {

namespace {

template <class Call>
auto repeated(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

// Returns a lock of the open file description on the first byte. Processes that have joined hold it shared; a
// process that fills or removes the file holds it exclusively. A conversion of the lock never releases the
// old lock before the new one is granted.
struct flock first_byte(short type) {
  return {.l_type = type, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1, .l_pid = 0};
}

bool lock(int descriptor, short type, int command) {
  struct flock wanted = first_byte(type);
  return repeated([&] { return ::fcntl(descriptor, command, &wanted); }) == 0;
}

}  // namespace

// Header at the start of the file.
struct HostMemory::HostMemoryHeader {
  std::atomic<uint32_t> ready;  // nonzero once the memory is filled
  uint32_t layout;
  std::atomic<uint64_t> reached;  // bytes allocated
  std::atomic<int64_t> forking;   // forked children that have not taken a lock of their own yet
};

void HostMutex::make() {
  pthread_mutexattr_t how;
  pthread_mutexattr_init(&how);
  pthread_mutexattr_setpshared(&how, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&mutex_, &how);
  pthread_mutexattr_destroy(&how);
}

bool HostMutex::lock() {
  if (pthread_mutex_lock(&mutex_) != EOWNERDEAD) return false;
  pthread_mutex_consistent(&mutex_);
  return true;
}

HostMemory::HostMemory(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

HostMemory::HostMemoryHeader& HostMemory::head() { return as<HostMemoryHeader>(0); }

bool HostMemory::is_named() const {
  struct stat own;
  return ::fstat(descriptor_, &own) == 0 && own.st_nlink > 0;
}

std::byte* HostMemory::map(uint64_t number) {
  SHEAF_ASSERT(number < chunks_.size());
  const std::lock_guard guard(mutex_);
  if (std::byte* const base = chunks_[number].load(std::memory_order_acquire)) return base;
  void* const base = ::mmap(nullptr, chunk, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_,
                            static_cast<off_t>(number * chunk));
  if (base == MAP_FAILED) throw os_error("cannot map shared memory", path_, errno);
  chunks_[number].store(static_cast<std::byte*>(base), std::memory_order_release);
  return static_cast<std::byte*>(base);
}

void HostMemory::reach(uint64_t end) {
  constexpr uint64_t step = 256 << 10;  // bytes: few system calls, little memory for small sets
  const uint64_t reached = head().reached.load(std::memory_order_relaxed);
  if (end <= reached) return;
  const uint64_t wanted = (end + step - 1) / step * step;
  if (wanted > most) throw os_error("no room for more streams in shared memory", path_, ENOSPC);
  // Allocates now, because a store into unallocated memory would kill the process with a signal.
  if (repeated([&] {
        return ::fallocate(descriptor_, 0, static_cast<off_t>(reached), static_cast<off_t>(wanted - reached));
      }) != 0)
    throw os_error("cannot get shared memory", path_, errno);
  head().reached.store(wanted, std::memory_order_release);
}

// Fills the file while this object holds it exclusively. Returns false if the name refers to another file by
// now.
bool HostMemory::fill_as_first(uint32_t layout, const std::function<void(HostMemory&)>& fill) {
  if (!is_named()) return false;
  if (::ftruncate(descriptor_, 0) != 0 || ::fallocate(descriptor_, 0, 0, static_cast<off_t>(first_free)) != 0)
    throw os_error("cannot get shared memory", path_, errno);
  HostMemoryHeader* const made = ::new (at(0)) HostMemoryHeader{};
  made->layout = layout;
  made->reached = first_free;
  try {
    fill(*this);
  } catch (...) {
    ::unlink(path_.c_str());
    throw;
  }
  made->ready.store(1, std::memory_order_release);
  return true;
}

std::unique_ptr<HostMemory> HostMemory::join(const std::string& directory, const std::string& key,
                                             uint32_t layout, const std::function<void(HostMemory&)>& fill) {
  const std::string path = directory + "/sheaf-" + key;
  for (;;) {
    const int fd = repeated([&] {
      return ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, S_IRUSR | S_IWUSR);
    });
    if (fd < 0) throw os_error("cannot open shared memory", path, errno);
    std::unique_ptr<HostMemory> memory(new HostMemory(path, fd));
    struct stat found;
    if (::fstat(fd, &found) != 0 || !S_ISREG(found.st_mode) || found.st_uid != ::geteuid() ||
        found.st_nlink > 1)  // 0: removed since the open
      throw file_error(Code::foreign, path, "is not a file of this user alone, with no other name");
    if (lock(fd, F_WRLCK, F_OFD_SETLK) && !memory->fill_as_first(layout, fill)) continue;
    if (!lock(fd, F_RDLCK, F_OFD_SETLKW)) throw os_error("cannot lock shared memory", path, errno);
    const bool filled = ::fstat(fd, &found) == 0 && found.st_nlink > 0 && found.st_size > 0 &&
                        memory->head().ready.load(std::memory_order_acquire) != 0;
    if (!filled) {  // removed, or its creator has not locked it yet
      memory.reset();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      continue;
    }
    if (memory->head().layout != layout)
      throw file_error(Code::mismatch, path, "processes with another version of Sheaf have the set open");
    return memory;
  }
}

void HostMemory::sweep(const std::string& directory, const std::string& key) {
  const std::string path = directory + "/sheaf-" + key;
  const int fd = repeated([&] { return ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); });
  if (fd < 0) return;
  const HostMemory left(path, fd);
  struct stat found;
  if (::fstat(fd, &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == ::geteuid() &&
      found.st_nlink == 1 && lock(fd, F_WRLCK, F_OFD_SETLK) && left.is_named())
    ::unlink(path.c_str());
}

HostMemory::~HostMemory() {
  if (chunks_[0].load() != nullptr && head().ready.load() != 0 && head().forking.load() == 0 &&
      lock(descriptor_, F_WRLCK, F_OFD_SETLK) && is_named())
    ::unlink(path_.c_str());
  for (const auto& base : chunks_)
    if (std::byte* const at = base.load()) ::munmap(at, chunk);
  ::close(descriptor_);
}

bool HostMemory::alone() {
  struct flock wanted = first_byte(F_WRLCK);
  return ::fcntl(descriptor_, F_OFD_GETLK, &wanted) == 0 && wanted.l_type == F_UNLCK;
}

void HostMemory::before_fork() { head().forking.fetch_add(1); }

void HostMemory::in_child() {
  // Reopens the file for a lock of the child's own, because the inherited one belongs to the parent.
  const std::string own = "/proc/self/fd/" + std::to_string(descriptor_);
  const int fd = repeated([&] { return ::open(own.c_str(), O_RDWR | O_CLOEXEC); });
  if (fd >= 0 && lock(fd, F_RDLCK, F_OFD_SETLK) && ::dup3(fd, descriptor_, O_CLOEXEC) >= 0)
    head().forking.fetch_sub(1);
  if (fd >= 0) ::close(fd);
}

}  // namespace sheaf
