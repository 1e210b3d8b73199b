// streams/preload/descriptors: the descriptors of this process that are captured files. An array indexed by
// descriptor holds them, so that a call on any other descriptor costs one load. An OpenFile corresponds to an
// open file description of POSIX. Descriptors created by dup share one OpenFile. Child processes inherit a
// copy of the OpenFile and share its slot (streams/preload/state.hpp).
#pragma once

#include <fcntl.h>

#include <atomic>
#include <memory>

#include "streams/container/container_set.hpp"
#include "streams/preload/inside.hpp"
#include "streams/preload/state.hpp"

namespace sheaf::preload {

// Return whether a file that was opened with `flags` can be read or written.
inline bool reads(int flags) noexcept { return (flags & O_ACCMODE) != O_WRONLY && !(flags & O_PATH); }
inline bool writes(int flags) noexcept { return (flags & O_ACCMODE) != O_RDONLY && !(flags & O_PATH); }

struct OpenFile {
  std::atomic<int> uses{0};  // descriptors and active calls; 0: this object is free for reuse
  std::atomic<int> descriptors{0};
  std::atomic<Slot*> slot{nullptr};
  std::shared_ptr<streams::ContainerStream> stream;
  std::shared_ptr<streams::ContainerSet> set;
  std::atomic<bool> written{false};  // this process has written since its last flush
  bool view = false;
  std::atomic<uint64_t> counted{0};  // number of the last fork that counted the child as a holder of the slot
  std::atomic<int> locks{-1};        // descriptor of the F_OFD_SETLK range locks (streams/preload/locks.hpp)
  OpenFile* next = nullptr;          // in the list of all objects, used and free

  int flags() const { return slot.load()->flags.load(); }
};

inline constexpr unsigned max_descriptors = 1U << 20;
extern std::atomic<OpenFile*> descriptor_table[max_descriptors];
extern OpenFile own_mark;  // table entry of descriptors of the library (streams/preload/own_descriptors.hpp)

// Returns whether this library must handle a call on `fd`. The library performs calls on captured files, and
// refuses calls on its own descriptors. Returns false within an Inside (streams/preload/inside.hpp).
inline bool is_captured(int fd) noexcept {
  return static_cast<unsigned>(fd) < max_descriptors &&
         descriptor_table[fd].load(std::memory_order_relaxed) != nullptr && !is_inside();
}

// Like is_captured, for entry points that are cancellation points: if `fd` is captured, first acts on a
// pending cancellation of the thread.
inline bool is_captured_point(int fd) {
  const bool captured = is_captured(fd);
  if (captured) pthread_testcancel();
  return captured;
}

// A call on a descriptor: marks the thread as inside, and keeps the open file of the descriptor alive even if
// another thread closes the descriptor. Tests as false if the descriptor is not captured; the call then fails
// with EBADF.
class Use : private NonCopyable {
 public:
  explicit Use(int fd) noexcept;
  ~Use();
  explicit operator bool() const { return file_ != nullptr; }
  OpenFile* operator->() const { return file_; }
  OpenFile& operator*() const { return *file_; }
  const Inside& inside() const { return inside_; }

 private:
  const Inside inside_;
  OpenFile* file_ = nullptr;
};

// Returns whether `fd` is a captured descriptor that was opened without O_PATH. O_PATH permits only
// operations on the name.
bool is_usable(int fd) noexcept;

// All functions below must be called within an Inside.

// Creates an object with one use and no descriptor. Returns null if memory is exhausted (ENOMEM).
OpenFile* make_open_file() noexcept;
// Drops one use. Dropping the last use closes the file.
void unuse(OpenFile* file) noexcept;
// Assigns `fd`, which the kernel has just returned, to this open file.
void install(int fd, OpenFile* file) noexcept;
// exchange() assigns `fd` to `file` before the kernel replaces the descriptor, or to null before the kernel
// closes it. Returns the previous open file. After success of the kernel, the caller passes the previous file
// to let_go(). After failure, the caller restores it with put_back(). A concurrent writer uses either the old
// or the new file.
OpenFile* exchange(int fd, OpenFile* file) noexcept;
void put_back(int fd, OpenFile* file, OpenFile* before) noexcept;
// Drops one descriptor of the file and flushes data that this process has written. Returns 0, or the errno of
// the flush. Does nothing for null and own_mark.
int let_go(OpenFile* file) noexcept;

// Installs the fork handlers, once at process start.
void watch_forks() noexcept;
// Returns whether this process is the child of vfork(2) or posix_spawn. Such a child runs in the memory of
// its parent and must not change it.
bool borrows_memory() noexcept;
// Prepares the slots of all open files for inheritance by fork, exec, vfork, posix_spawn, popen or system:
// locks each slot (state::lock), because the heir may end without releasing it.
void lock_slots() noexcept;
// Returns the highest descriptor that was ever captured or used by the library; -1 if none.
int highest_descriptor() noexcept;
// Calls visit(fd, file) for each captured descriptor.
template <class Visit>
void each_captured(const Visit& visit) {
  const int last = highest_descriptor();
  for (int fd = 0; fd <= last; ++fd)
    if (OpenFile* const file = descriptor_table[fd].load(); file && file != &own_mark) visit(fd, *file);
}

}  // namespace sheaf::preload
