// process/host_memory: memory that any processes of this host share under a key, as long as one of them
// lives.
//
// It is a file of a file system in memory, of the user's own. Whoever joins first fills it; when the last one
// leaves it is gone. Processes that are killed leave a file that nobody holds, which the next one fills anew.
// Grows; what is there never moves.
//
// Threads: any. Forks: a child has joined as its parent has.
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

// A lock in such memory, which ends with a thread that is killed while it holds it.
class HostMutex {
 public:
  void make();  // before anybody uses it
  // True: the holder before was killed. What it guards may be half changed, and is to be put right before
  // unlock().
  bool lock();
  void unlock() { pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t mutex_;
};

class SHEAF_EXPORT HostMemory : private NonCopyable {
 public:
  static constexpr uint64_t chunk = uint64_t{8} << 20;      // bytes that lie in one piece here
  static constexpr uint64_t first_free = 4096;              // what is before is the object's own
  static constexpr uint64_t most = uint64_t{8192} * chunk;  // bytes

  // `directory`: where files are in memory. `key`: letters, digits, '-'. `layout`: of what is in it;
  // processes of another one are refused, with mismatch. fill(memory): for the first, which finds zeros from
  // first_free on; if it throws, nobody has joined. Throws what opening a file throws, foreign for a file
  // that is not this user's, no_space.
  static std::unique_ptr<HostMemory> join(const std::string& directory, const std::string& key,
                                          uint32_t layout, const std::function<void(HostMemory&)>& fill);
  // Removes what processes that were killed have left under a key. Nothing happens if somebody has joined, or
  // there is nothing.
  static void sweep(const std::string& directory, const std::string& key);
  ~HostMemory();

  // The byte at `place`, and all behind it up to the end of its chunk. reach() has been called for it, by
  // anybody.
  std::byte* at(uint64_t place) {
    std::byte* const base = chunks_[place / chunk].load(std::memory_order_acquire);
    return (base != nullptr ? base : map(place / chunk)) + place % chunk;
  }
  template <class T>
  T& as(uint64_t place) {
    return *reinterpret_cast<T*>(at(place));
  }

  // Memory is there up to `end`. Not by two at once. Throws no_space.
  void reach(uint64_t end);

  // Whether no other process has joined.
  bool alone();

  // Around fork(), on the thread that forks: before it, and in the child.
  void before_fork();
  void in_child();

 private:
  struct Head;

  HostMemory(std::string path, int descriptor);
  std::byte* map(uint64_t number);
  Head& head();
  bool fill_as_first(uint32_t layout, const std::function<void(HostMemory&)>& fill);
  bool is_named() const;

  const std::string path_;
  int descriptor_;
  std::mutex mutex_;  // of map()
  std::array<std::atomic<std::byte*>, most / chunk> chunks_{};
};

}  // namespace sheaf
