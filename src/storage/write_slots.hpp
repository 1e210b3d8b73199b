// storage/write_slots: at most so many transfers at once, counted over tasks of several threads and processes
// of one machine.
//
// One task makes the slots under a new name, the others join them by it; then the name can go, and what is
// left goes with the last of them. Made and joined through a Store (store.hpp): the operating system's keeps
// slots in record locks on a file of its own, which the kernel gives back when a process dies; a store in
// memory keeps them in memory.
#pragma once

#include <memory>
#include <string>

#include "base/non_copyable.hpp"

namespace sheaf {

// One task's end. Calls from several threads are allowed: they then count as one task and wait for each
// other.
class WriteSlots {
 public:
  virtual ~WriteSlots() = default;

  // Sleeps until a slot is free and takes it; returns its number. Waiting tasks are served in about the order
  // in which they came. Throws io if the operating system refuses.
  virtual int take() = 0;
  // By the thread that took it.
  virtual void give_back(int slot) noexcept = 0;

  virtual const std::string& name() const = 0;
  // Removes the name: nobody can join any more, those who have keep their slots.
  virtual void hide() noexcept = 0;
};

// A slot, for as long as this lives.
class Slot : private NonCopyable {
 public:
  explicit Slot(WriteSlots& slots) : slots_(slots), number_(slots.take()) {}
  ~Slot() { slots_.give_back(number_); }

 private:
  WriteSlots& slots_;
  const int number_;
};

// Slots inside this process. join_memory_slots() returns the same object; throws not_found for an unknown
// name.
std::shared_ptr<WriteSlots> make_memory_slots(int count);
std::shared_ptr<WriteSlots> join_memory_slots(const std::string& name);

// Slots among the processes of a machine, in record locks on a small file in /dev/shm or, where there is
// none, in the directory for temporary files. Every end holds a descriptor. Throw what open(2) refuses, and
// io where files cannot be locked.
std::shared_ptr<WriteSlots> make_locked_slots(int count);
std::shared_ptr<WriteSlots> join_locked_slots(const std::string& name, int count);

}  // namespace sheaf
