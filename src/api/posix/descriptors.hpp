// api/posix/descriptors: which descriptors of this process are captured files. An array by descriptor, so
// that a call on any other costs one load. An open file here is what POSIX calls an open file description:
// descriptors made by dup share it, and with children it shares its slot (api/posix/state.hpp).
#pragma once

#include <atomic>
#include <memory>

#include "api/posix/inside.hpp"
#include "api/posix/state.hpp"
#include "container/container_set.hpp"

namespace sheaf::posix {

struct OpenFile {
  std::atomic<int> uses{
      0};  // descriptors, and calls at work; 0: this object is free. Its memory is never given back
  std::atomic<int> descriptors{0};
  std::atomic<Slot*> slot{nullptr};
  std::shared_ptr<ContainerStream> stream;
  std::shared_ptr<ContainerSet> set;
  std::atomic<bool> written{false};  // by this process, since its last flush
  bool view = false;
  std::atomic<uint64_t> counted{0};  // the last fork whose child was counted as a holder of the slot
  std::atomic<int> locks{-1};  // descriptor on which F_OFD_SETLK locks ranges of it (api/posix/locks.hpp)
  OpenFile* next = nullptr;    // in the list of all, used and free
};

inline constexpr unsigned most_descriptors = 1U << 20;
extern std::atomic<OpenFile*> descriptor_table[most_descriptors];
extern OpenFile
    own_mark;  // stands in the table for descriptors of the library (api/posix/own_descriptors.hpp)

// Whether a call on `fd` is ours to answer, or to refuse where it is a descriptor of the library. Inside,
// nothing is.
inline bool is_captured(int fd) noexcept {
  return static_cast<unsigned>(fd) < most_descriptors &&
         descriptor_table[fd].load(std::memory_order_relaxed) != nullptr && !is_inside();
}

// The same for calls that are cancellation points, on captured files as well.
inline bool is_captured_point(int fd) {
  const bool captured = is_captured(fd);
  if (captured) pthread_testcancel();
  return captured;
}

// Holds the open file of a descriptor over a call, whatever other threads close. Null: it is none, EBADF.
class Use {
 public:
  explicit Use(int fd) noexcept;
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  ~Use();
  explicit operator bool() const { return file_ != nullptr; }
  OpenFile* operator->() const { return file_; }
  OpenFile& operator*() const { return *file_; }

 private:
  OpenFile* file_ = nullptr;
};

// Whether a captured descriptor is for more than its name (O_PATH).
bool is_usable(int fd) noexcept;

// All below: inside.

// A new object with one use and no descriptor; null: no memory (ENOMEM).
OpenFile* make_open_file() noexcept;
// One use less; the last one closes what it holds.
void unuse(OpenFile* file) noexcept;
// `fd`, which the kernel has just given, belongs to this open file from now on.
void install(int fd, OpenFile* file) noexcept;
// The same of a descriptor that is about to be replaced; what it was before, which is to be let go of, or put
// back if the kernel does not replace it. Whoever writes to it meanwhile finds one or the other. file: null,
// it is about to be closed.
OpenFile* exchange(int fd, OpenFile* file) noexcept;
void put_back(int fd, OpenFile* file, OpenFile* before) noexcept;
// It has one descriptor less: 0 or the errno of writing back what was written through it. Null and own_mark:
// 0.
int let_go(OpenFile* file) noexcept;

// From the start of the process on.
void watch_forks() noexcept;
// Whether this is the child of vfork(2), or of a posix_spawn, which has the memory of its parent and may
// change nothing in it.
bool borrows_memory() noexcept;
// Others will hold the open files from now on, and may end in ways that nobody counts: what fork, exec,
// vfork, posix_spawn, popen and system hand on.
void lock_slots() noexcept;
// The highest descriptor that was ever captured, or was one of the library; -1: none.
int highest_descriptor() noexcept;
// Calls visit(fd, file) for each captured descriptor.
void each_captured(void (*visit)(int fd, OpenFile& file, void* context), void* context) noexcept;

}  // namespace sheaf::posix
