// exchange/node_mail: how tasks of a node give bytes to an aggregator on the same node, or get them from it, through memory
// that they share.
//
// Every task has a box: room for the code of its pieces (exchange/piece_code) and one or two slots for bytes. Senders copy
// bytes into their own slots, from where the aggregator writes them to the file; or the aggregator reads from the file into
// the slots of those who want the bytes. So bytes are copied once between the memory of a task and the file.
//
// Tasks that share an aggregator go through *phases*, which all of them count alike: the code in one, then one per round, in
// which the slots take turns. In a phase every sender *arrives* when it is done with its box and the aggregator *releases* all
// of them when it is done with theirs; who comes first depends on the direction. Whoever touches a box in phase p has seen
// the other side be done with phase p - 2, so two phases are under way and nobody touches a box that the other side uses.
// Waiting tasks sleep.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "comm/comm.hpp"
#include "comm/shared_memory.hpp"

namespace sheaf::exchange {

class NodeMail {
 public:
  // `all` outlives the object.
  explicit NodeMail(Comm& all) : all_(all) {}

  struct Room {  // of a box
    int64_t code = 0;  // bytes
    int64_t slot = 0;  // bytes
    int slots = 1;
  };
  // Collective over `all`, between phases that have ended on this task; the same `room` everywhere. Boxes have at least that
  // room from now on, where the memory can be had: on all tasks of a node or on none.
  void provide(const Room& room);

  bool reaches(int task) const;  // it has a box here
  bool reaches_all() const { return memory_ && !node_; }

  std::span<std::byte> code(int task) const;
  std::byte* slot(int task, int64_t round) const;
  // What the aggregator has put into a slot of a task, which may be less than that wants.
  void set_bytes(int task, int64_t round, int64_t bytes) const;
  int64_t bytes(int task, int64_t round) const;

  // Whether this task has a box.
  bool has_boxes() const { return memory_ != nullptr; }

  // The first of so many phases, which all tasks count; local.
  uint32_t begin_phases(int64_t count) {
    phase_ += static_cast<uint32_t>(count);
    return phase_ - static_cast<uint32_t>(count);
  }

  // Of a task that has something for the aggregator or wants something from it.
  void arrive(int aggregator, uint32_t phase) const;
  void await_release(int aggregator, uint32_t phase) const;

  // Of an aggregator; `tasks`: how many will arrive.
  void expect(int64_t tasks, uint32_t phase) { due_[phase % 2] += static_cast<uint32_t>(tasks); }
  void await_arrivals(uint32_t phase) const;
  void release(uint32_t phase) const;

 private:
  struct Box;

  Comm* tasks_of_node();
  Box& box(int task) const;
  size_t index_of(int task) const;
  size_t tasks() const { return static_cast<size_t>(node_ ? node_->size() : all_.size()); }
  size_t stride() const;

  Comm& all_;
  std::unique_ptr<Comm> node_;  // the tasks of this node, if not all are on it
  std::unique_ptr<SharedMemory> memory_;
  bool given_up_ = false;
  Room room_;
  std::vector<int> members_;  // of `node_`
  uint32_t phase_ = 0;
  std::array<uint32_t, 2> due_{};  // who were to arrive in even and odd phases so far
};

}  // namespace sheaf::exchange
