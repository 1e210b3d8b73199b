// storage/write_slots: limits concurrent transfers of tasks in several threads and processes of one host.
//
// One task creates the slots under a new name, and the others join them by that name. The name can be removed
// afterwards; the slots live until the last task drops them. A Store (store.hpp) creates and joins slots. The
// operating system's store keeps slots as record locks on a separate file, which the kernel releases when a
// process dies. A store in memory keeps them in memory.
#pragma once

#include <memory>
#include <string>

#include "base/non_copyable.hpp"

namespace sheaf {

// One task's access to the slots. Several threads may call it: they count as one task and wait for each
// other.
class WriteSlots {
 public:
  virtual ~WriteSlots() = default;

  // Acquires a slot and returns its number; blocks until one is free. Waiting tasks are served approximately
  // in order of arrival. Throws io if the operating system refuses.
  virtual int take() = 0;
  // Releases a slot. Must be called by the thread that acquired it.
  virtual void give_back(int slot) noexcept = 0;

  virtual const std::string& name() const = 0;
  // Removes the name: no further task can join, and tasks that have joined keep their slots.
  virtual void hide() noexcept = 0;
};

// Holds a slot during its lifetime.
class HeldWriteSlot : private NonCopyable {
 public:
  explicit HeldWriteSlot(WriteSlots& slots) : slots_(slots), number_(slots.take()) {}
  ~HeldWriteSlot() { slots_.give_back(number_); }

 private:
  WriteSlots& slots_;
  const int number_;
};

// make_memory_slots() creates slots inside this process. join_memory_slots() returns the same object, or
// throws not_found if the name is unknown.
std::shared_ptr<WriteSlots> make_memory_slots(int count);
std::shared_ptr<WriteSlots> join_memory_slots(const std::string& name);

// Create or join slots that the processes of a host share, as record locks on a small file in /dev/shm or,
// without that directory, in the directory for temporary files. Every task's object holds a descriptor. They
// throw the errors of open(2), and io if files cannot be locked.
std::shared_ptr<WriteSlots> make_locked_slots(int count);
std::shared_ptr<WriteSlots> join_locked_slots(const std::string& name, int count);

}  // namespace sheaf
