// base/os/host_memory: memory that processes of this host share under a key, while at least one process that
// has joined lives.
//
// The memory is a file in a memory file system, owned by the user. The first process to join fills it; the
// last one to leave removes it. Killed processes may leave a file that no process holds; the next process to
// join fills it anew. The memory can grow, and its contents never move.
//
// Any thread may call the functions. A forked child has joined like its parent; in_child() gives it a lock of
// its own.
#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "base/export.hpp"
#include "base/non_copyable.hpp"

namespace sheaf {

// A mutex in shared memory. The kernel releases it if the thread that holds it is killed.
class HostMutex {
 public:
  void make();  // call before first use
  // Acquires the mutex. Returns true if the previous holder was killed: the protected data may be half
  // changed, and the caller must repair it before unlock().
  bool lock();
  void unlock() { pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t mutex_;
};

// Holds a HostMutex.
class HostLock : private NonCopyable {
 public:
  explicit HostLock(HostMutex& mutex) : mutex_(mutex), after_kill_(mutex.lock()) {}
  ~HostLock() { mutex_.unlock(); }
  bool after_kill() const { return after_kill_; }  // as returned by HostMutex::lock()

 private:
  HostMutex& mutex_;
  const bool after_kill_;
};

class SHEAF_EXPORT HostMemory : private NonCopyable {
 public:
  static constexpr uint64_t chunk = uint64_t{8} << 20;  // bytes mapped contiguously
  static constexpr uint64_t first_free = 4096;          // offset of the first byte for users of the object
  static constexpr uint64_t most = uint64_t{8192} * chunk;  // maximum bytes

  // Joins the memory of `key`, which consists of letters, digits and '-', in `directory`, a directory of a
  // memory file system. `layout` is the version of the contents. The first process calls fill(memory), with
  // zeros from first_free on; if fill() throws, no process has joined. Throws mismatch if the memory has a
  // different layout. Throws the errors of opening a file, foreign for a file of another user, and no_space.
  static std::unique_ptr<HostMemory> join(const std::string& directory, const std::string& key,
                                          uint32_t layout, const std::function<void(HostMemory&)>& fill);
  // Removes the memory of `key` that killed processes have left. Does nothing if a process has joined or no
  // such memory exists.
  static void sweep(const std::string& directory, const std::string& key);
  ~HostMemory();

  // Returns the address of the byte at `place`. Maps all following bytes up to the end of the chunk, too.
  // Requires that some process has called reach() for the bytes in use.
  std::byte* at(uint64_t place) {
    std::byte* const base = chunks_[place / chunk].load(std::memory_order_acquire);
    return (base != nullptr ? base : map(place / chunk)) + place % chunk;
  }
  template <class T>
  T& as(uint64_t place) {
    return *reinterpret_cast<T*>(at(place));
  }

  // Allocates memory up to `end`. Only one task may call it at a time. Throws no_space.
  void reach(uint64_t end);

  // Returns true if no other process has joined.
  bool alone();

  // The thread that forks must call before_fork() before fork(), and in_child() in the child.
  void before_fork();
  void in_child();

 private:
  struct HostMemoryHeader;

  HostMemory(std::string path, int descriptor);
  std::byte* map(uint64_t number);
  HostMemoryHeader& head();
  bool fill_as_first(uint32_t layout, const std::function<void(HostMemory&)>& fill);
  bool is_named() const;

  const std::string path_;
  int descriptor_;
  std::mutex mutex_;  // guards map()
  std::array<std::atomic<std::byte*>, most / chunk> chunks_{};
};

}  // namespace sheaf
