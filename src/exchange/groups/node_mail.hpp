// exchange/groups/node_mail: how tasks of a host give bytes to an aggregator on the same host, or get them
// from it, through memory that they share.
//
// Every task has a box: room for the code of its pieces (exchange/pieces/piece_code) and one or two slots for
// bytes. Senders copy bytes into their own slots, from where the aggregator writes them to the file; or the
// aggregator reads from the file into the slots of those who want the bytes. So bytes are copied once between
// the memory of a task and the file.
//
// Tasks that share an aggregator go through *phases*, which all of them count alike: the code in one, then
// one per round, in which the slots take turns. A phase is a window of the stage's protocol
// (exchange/stage_steps) that the aggregator keeps, with two slots: its parts are the boxes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "comm/comm.hpp"
#include "comm/shared_memory.hpp"
#include "exchange/stage_steps.hpp"

namespace sheaf::exchange {

class NodeMail {
 public:
  // `all` outlives the object.
  explicit NodeMail(Comm& all) : all_(all) {}

  struct Room {        // of a box
    int64_t code = 0;  // bytes
    int64_t slot = 0;  // bytes
    int slots = 1;
  };
  // Collective over `all`, between phases that have ended on this task; the same `room` everywhere. Boxes
  // have at least that room from now on, where the memory can be had: on all tasks of a host or on none.
  void provide(const Room& room);

  // Tasks first..last go through phases with `aggregator`, one of them, from now on; always the same ones.
  void serve(int first, int last, int aggregator);

  bool reaches(int task) const;  // it has a box here
  bool reaches_all() const { return memory_ && !node_; }

  std::span<std::byte> code(int task) const;
  std::byte* slot(int task, int64_t round) const;
  // What the aggregator has put into a slot of a task, which may be less than that wants.
  void set_bytes(int task, int64_t round, int64_t bytes) const;
  int64_t bytes(int task, int64_t round) const;

  // The first of so many phases, which all tasks count; local.
  uint64_t begin_phases(int64_t count) {
    phase_ += static_cast<uint64_t>(count);
    return phase_ - static_cast<uint64_t>(count);
  }

  // Of every task but the aggregator, in every phase, nothing where it has no box: copy() uses its box, when
  // that is its own again, or when the aggregator has laid something into it.
  template <class Copy>
  void put(uint64_t phase, Copy copy) const {
    if (is_sender()) run(PutSteps<SharedWord>(phase), phase, copy);
  }
  template <class Copy>
  void take(uint64_t phase, Copy copy) const {
    if (is_sender()) run(TakeSteps<SharedWord>(phase), phase, copy, uint64_t{0});
  }

  // Of the aggregator, with or without boxes: use() them when all have put, or lay something into them when
  // all have taken.
  template <class Use>
  void collect(uint64_t phase, Use use) const {
    if (!is_aggregator()) return use();
    const Phases at = phases();
    keep<SharedWord>(at, [&](auto& keeper) { return keeper.await_free(at, phase); });
    keep<SharedWord>(at, [&](auto& keeper) { return keeper.await_full(at, phase); });
    use();
    keep<SharedWord>(at, [&](auto& keeper) { return keeper.empty(at, phase); });
  }
  template <class Use>
  void offer(uint64_t phase, Use use) const {
    if (!is_aggregator()) return use();
    const Phases at = phases();
    keep<SharedWord>(at, [&](auto& keeper) { return keeper.await_free(at, phase); });
    use();
    keep<SharedWord>(at, [&](auto& keeper) { return keeper.offer(at, phase); });
  }

 private:
  struct Box;
  // Phases as the steps ask for them; they are kept, so that nobody asks for pens.
  struct Phases {
    SharedMemory& memory;
    SharedWord* words;  // turns, arrivals
    uint32_t senders;
    uint64_t begin() const { return 0; }
    uint64_t end() const { return UINT64_MAX; }
    uint64_t slots() const { return 2; }
    bool kept() const { return true; }
    int pens() const { return 0; }
    int pen_of(uint64_t) const { return 0; }
    uint32_t due(uint64_t) const { return senders; }
    uint32_t free_for(uint64_t phase) const { return Turn::free_for(phase, 2); }
    SharedWord& turn(uint64_t phase) const { return words[phase % 2]; }
    SharedWord& arrived(uint64_t phase) const { return words[2 + phase % 2]; }
    SharedWord& pen(int) const { return words[0]; }
    void carry_out(const Act<SharedWord>& act) const {
      if (act.what == Do::wake) memory.wake(*act.word);
      if (act.what == Do::sleep) memory.wait(*act.word, act.value);
    }
  };

  bool is_aggregator() const { return memory_ && all_.rank() == aggregator_; }
  bool is_sender() const { return memory_ && all_.rank() != aggregator_ && reaches(aggregator_); }
  Phases phases() const;

  template <class Steps, class Copy, class... Ahead>
  void run(Steps steps, uint64_t phase, Copy copy, Ahead... ahead) const {
    const Phases at = phases();
    for (;;) {
      const Act<SharedWord> act = steps.step(
          at, [](uint64_t next) { return next; }, phase + 1, ahead...);
      if (act.what == Do::leave) return;
      if (act.what == Do::copy) copy();
      at.carry_out(act);
    }
  }
  Comm* tasks_of_node();
  Box& box(int task) const;
  size_t index_of(int task) const;
  size_t tasks() const { return static_cast<size_t>(node_ ? node_->size() : all_.size()); }
  size_t stride() const;

  Comm& all_;
  std::unique_ptr<Comm> node_;  // the tasks of this host, if not all are on it
  std::unique_ptr<SharedMemory> memory_;
  bool given_up_ = false;
  Room room_;
  std::vector<int> members_;  // of `node_`
  uint64_t phase_ = 0;
  int first_ = 0, last_ = 0, aggregator_ = 0;
};

}  // namespace sheaf::exchange
