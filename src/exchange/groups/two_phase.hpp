// exchange/groups/two_phase: how groups of tasks hand over bytes to an aggregator each, and get them from it
// (collective/collective_writer, collective_reader).
//
// When a plan is made, every task tells its aggregator which bytes it has for it, in a short code; then only
// data travel, in rounds: while an aggregator works on the file, the bytes of the next round travel. They go
// by messages between hosts, and within a host through memory that its tasks share
// (exchange/groups/node_mail).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "comm/comm.hpp"
#include "comm/rounds.hpp"
#include "exchange/groups/node_mail.hpp"
#include "exchange/pieces/access.hpp"
#include "exchange/transfer/tally.hpp"
#include "storage/store.hpp"

namespace sheaf::exchange {

class TwoPhase {
 public:
  explicit TwoPhase(Comm& comm) : comm_(comm), mail_(comm) {}

  // Tasks first..last of the Comm share an aggregator, one of them.
  struct Group {
    int first = 0;
    int last = 0;
    int aggregator = 0;
    int size() const { return last - first + 1; }
  };
  // What all tasks must know of each other: the largest over the tasks of what those have.
  struct Load {
    int64_t bytes = 0;
    int64_t code = 0;  // bytes of encode_pieces()
    int64_t pieces = 0;
    int64_t each = 0;  // the least over the groups: bytes of a task that the aggregator has memory for
  };

  // Local. Memory at aggregators for rounds with at most so many bytes; throws if there is none.
  void reserve(int64_t bytes);
  // Collective. What a task has goes through the aggregator of its group, in rounds of as much as that has
  // memory for; its pieces may go back in the file, and where they lie over each other the later one wins.
  // `code`: that of `access`. Returns what went wrong here; data must travel all the same, and are then not
  // transferred.
  std::optional<Error> plan_groups(const Access& access, std::span<const std::byte> code, const Group& group,
                                   const Load& largest);

  // The tasks of a group have one piece each, one behind the other from byte 0 on.
  struct Sequence {
    std::vector<int64_t> sizes;  // of the members' pieces, at the aggregator
    int64_t begin = 0;           // where this task's piece lies
    int64_t total = 0;           // of the group
  };
  // Collective; `mine` bytes are this task's piece, `largest` those of the largest one, of which `window` > 0
  // at a time shall travel.
  Sequence line_up(const Group& group, int64_t mine, int64_t largest, int64_t window);
  // Local. The aggregator gets the pieces in order, `window` bytes per round; `rounds`: the most of all
  // groups.
  void plan_sequence(const Group& group, const Sequence& sequence, int64_t window, int64_t rounds);

  // Collective; by the plan, which must be that of `access`. Only aggregators touch the file. Nothing is
  // thrown; returns what went wrong here.
  std::optional<Error> write(File& file, const Access& access, Tally& tally);
  // `done`: the position in the stream up to which bytes were read.
  std::optional<Error> read(File& file, const Access& access, int64_t& done, Tally& tally);

 private:
  // A task that has something for this aggregator.
  struct Sender {
    int task = 0;
    int64_t bytes = 0;
    layout::TypeMap pieces;
    Access access() const { return {0, &pieces, 0, bytes, nullptr, nullptr}; }
  };
  struct Part {  // of a stream
    int64_t from = 0;
    int64_t to = 0;
    int64_t bytes() const { return to - from; }
  };
  // Bytes on their way: of a sender, or of this task for its aggregator.
  struct Message {
    size_t peer = 0;  // number of the sender
    Part part;
    std::byte* memory = nullptr;
    bool near = false;  // they are in the memory of the node
  };
  // What travels or is worked on in a round; two rounds are under way.
  struct Round {
    std::vector<Message> of_senders;
    std::vector<Message> own;
    std::unique_ptr<std::byte[]> memory;
    int64_t room = 0;
    void reserve(int64_t bytes);
  };

  void begin_groups(const Group& group);
  void tell_pieces(const Access& access, std::span<const std::byte> code, uint64_t phase);
  std::optional<Error> learn_pieces(const Access& access, std::span<const std::byte> code, const Group& group,
                                    int64_t room, uint64_t phase);
  struct Place {
    int64_t begin = 0;
    int64_t total = 0;
  };
  std::vector<int64_t> gather(const Group& group, int64_t mine);
  Place deal(const Group& group, std::span<const Place> places);
  Part part(const Access& access, int64_t round) const;
  Round& lay_out(const Access& access, int64_t round);
  struct Transport {  // what rounds talk through
    TwoPhase& tasks;
    std::unique_ptr<Exchange> exchange(std::vector<Outgoing> outgoing, std::vector<Incoming> incoming) const;
  };
  bool leads() const { return comm_.rank() == aggregator_; }
  bool is_own(const Message& message) const;
  bool is_near(int peer) const { return peer != comm_.rank() && mail_.reaches(peer); }
  uint64_t phase_of(int64_t round) const { return first_phase_ + static_cast<uint64_t>(round); }
  Access stored(const Message& message) const;
  void write_round(File& file, int64_t round);
  void read_round(File& file, int64_t round);

  Comm& comm_;
  NodeMail mail_;
  uint64_t first_phase_ = 0;  // that of round 0
  int64_t step_ = 1;          // bytes of a task, or of the sequence, per round
  int64_t steps_ = 0;         // rounds
  bool in_sequence_ = false;
  int aggregator_ = 0;
  std::vector<Sender> senders_;
  std::optional<Error> unknown_;  // why the pieces of the senders are not known
  Round rounds_[2];
};

}  // namespace sheaf::exchange
