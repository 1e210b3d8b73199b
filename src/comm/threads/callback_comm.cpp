#include "comm/threads/callback_comm.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/crc32c.hpp"
#include "base/error.hpp"
#include "base/os/host_name.hpp"
#include "comm/agree.hpp"
#include "comm/helpers.hpp"
#include "comm/threads/star_comm.hpp"

namespace sheaf {
namespace {

// Steps of a round that can fail.
enum class CallbackStep : int64_t {
  none,
  barrier,
  bcastr,
  gatherr,
  scatterr,
  create,
  allgather,
  size,
  answer
};

// Tasks exchange it as two numbers.
struct CallbackFailure {
  CallbackStep part = CallbackStep::none;
  int64_t result = 0;

  std::string text() const {
    static constexpr const char* names[] = {
        "", "barrier", "bcastr", "gatherr", "scatterr", "create_local_commgroup", "allgather"};
    if (part == CallbackStep::size) return "messages of more than 2 GiB do not fit through the callbacks";
    if (part == CallbackStep::answer)
      return "the callbacks brought other messages than were sent, or there is no memory for them";
    return std::string("the ") + names[static_cast<size_t>(part)] + " callback returned " +
           std::to_string(result);
  }
};

class CallbackRelay final : public RootRelay {
 public:
  CallbackRelay(const CommCallbacks& callbacks, void* group, int rank, int size)
      : call_(callbacks), group_(group), rank_(rank), size_(size) {}
  ~CallbackRelay() override {
    if (local_made_) call_.free_group(local_);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  int64_t node() override { return static_cast<int64_t>(std::hash<std::string>{}(host_name()) >> 1); }
  int tasks_per_node() override {
    return per_node_of_task_0_ >= 0 ? per_node_of_task_0_ : topology_by_hand();
  }

  std::vector<std::byte> round(std::span<const std::byte> mine, const AnswerFunction& answer) override {
    if (dead_) throw *dead_;
    if (size_ == 1) return answer({{mine.begin(), mine.end()}, {std::ssize(mine)}}).bytes;
    const Gathered calls = collect(mine);
    Gathered replies;
    if (has_all() && failure_.part == CallbackStep::none && attempt([&] { replies = answer(calls); }))
      note(CallbackStep::answer, 0);
    std::vector<std::byte> reply = hand_out(replies);
    agree_on_failures();
    return reply;
  }

  void make_local(const LocalGroup& local) override {
    if (dead_) throw *dead_;
    note(CallbackStep::create, call_.create_group(&local_, group_, rank_, size_, local.rank, local.size,
                                                  local.filenumber, local.numfiles));
    local_made_ = failure_.part != CallbackStep::create;
    if (size_ == 1 && !local_made_) throw *(dead_ = Error(Code::io, failure_.text()));
    if (size_ > 1 && !call_.allgather) note(CallbackStep::barrier, call_.barrier(group_));
    // The next round reports a failure of create_group or barrier to all tasks.
  }

  void* local() const override { return local_; }

 private:
  // Returns true if this task gets all contributions. Task 0 does, and with an allgather callback every task
  // does.
  bool has_all() const { return call_.allgather || rank_ == 0; }
  // Returns the number of contributions for which this task needs room: one per task, or 0 if it does not get
  // them.
  size_t places() const { return has_all() ? static_cast<size_t>(size_) : 0; }

  // Collective. Collects `mine` of each task on all tasks that get all contributions.
  void gather_all(void* mine, void* all, int64_t words) {
    if (call_.allgather) {
      note(CallbackStep::allgather, call_.allgather(mine, all, group_, 8 * words));
    } else {
      note(CallbackStep::gatherr,
           call_.gatherr(mine, all, group_, CommCallbacks::int64, static_cast<int>(words), 0));
    }
  }

  // Records a failed step, unless an earlier failure is recorded that has not been reported yet.
  void note(CallbackStep part, int result) {
    const bool failed = part == CallbackStep::answer || part == CallbackStep::size || result != 0;
    if (failed && failure_.part == CallbackStep::none) failure_ = {part, result};
  }

  // Describes a message. Tasks exchange it before the message itself.
  struct Note {
    int64_t length = -1;  // bytes
    int64_t sum = 0;      // CRC32C
  };
  // Uses a nonzero seed, so that zeros which no task sent are not a valid message.
  static Note note_of(std::span<const std::byte> message) {
    return {std::ssize(message), crc32c(0x53686561, message)};
  }

  // The note of a message and the first bytes of the message. Without an allgather callback, it carries fewer
  // of these bytes (words_ahead), because task 0 alone holds the envelopes of all tasks.
  struct Envelope {
    Note note;
    int64_t per_node = 0;  // tasks_per_node(); only with an allgather callback
    std::array<int64_t, 61> first{};
  };
  size_t words_ahead() const { return call_.allgather ? std::tuple_size_v<decltype(Envelope::first)> : 9; }

  template <class T>
  static constexpr int words_of = sizeof(T) / sizeof(int64_t);

  // How the messages of all tasks are transferred: `count` rounds of `window` bytes per task.
  struct Rounds {
    int64_t window = 0;  // a multiple of 8
    int64_t count = 0;
  };
  static Rounds rounds_for(int64_t largest) {
    const int64_t window = std::min(max_at_once, (largest + 7) / 8 * 8);
    return {window, largest == 0 ? 0 : (largest + window - 1) / window};
  }

  // Returns the bytes of the longest message. Returns nothing if the notes are invalid or the total exceeds
  // the limit of a collective call.
  static std::optional<int64_t> largest_of(std::span<const Note> notes) {
    int64_t largest = 0;
    int64_t total = 0;
    for (const Note& n : notes) {
      if (n.length < 0 || n.length > INT_MAX || (total += n.length) > INT_MAX) return std::nullopt;
      largest = std::max(largest, n.length);
    }
    return largest;
  }

  // Collective. Returns the bytes of the longest message, from which all tasks compute the same number of
  // rounds. If the notes are invalid, returns nothing on all tasks, and no task transfers bytes. `notes` is
  // empty on tasks that do not get all contributions.
  std::optional<int64_t> agree_on_largest(std::span<const Note> notes) {
    const std::optional<int64_t> found = largest_of(notes);
    if (call_.allgather) return found;
    int64_t largest = found.value_or(0);
    note(CallbackStep::bcastr, call_.bcastr(&largest, group_, CommCallbacks::int64, 1, 0));
    if (found && largest >= 0 && largest <= INT_MAX) return largest;
    note(CallbackStep::size, 0);
    return std::nullopt;
  }

  // Returns the part of a message that is transferred in a round, not counting its first `ahead` bytes.
  template <class Byte>
  static std::span<Byte> part_of(std::span<Byte> message, const Rounds& rounds, int64_t round,
                                 int64_t ahead = 0) {
    const auto from = std::min<int64_t>(ahead + round * rounds.window, std::ssize(message));
    return message.subspan(static_cast<size_t>(from),
                           static_cast<size_t>(std::min(rounds.window, std::ssize(message) - from)));
  }

  // Collective. Returns all contributions on tasks that get them, and an empty result on other tasks. The
  // contributions are empty if their lengths are invalid.
  Gathered collect(std::span<const std::byte> mine) {
    const size_t words = offsetof(Envelope, first) / sizeof(int64_t) + words_ahead();
    const int64_t ahead = 8 * static_cast<int64_t>(words_ahead());
    Envelope own{note_of(mine), call_.allgather ? tasks_per_node() : 0, {}};
    std::memcpy(own.first.data(), mine.data(), static_cast<size_t>(std::min(std::ssize(mine), ahead)));
    std::vector<int64_t> envelopes(places() * words);
    gather_all(&own, envelopes.data(), static_cast<int64_t>(words));
    std::vector<Envelope> received(places());
    std::vector<Note> notes;
    for (size_t task = 0; task < places(); ++task) {
      std::memcpy(static_cast<void*>(&received[task]), &envelopes[task * words], words * sizeof(int64_t));
      notes.push_back(received[task].note);
    }
    if (call_.allgather) per_node_of_task_0_ = static_cast<int>(received[0].per_node);
    const std::optional<int64_t> largest = agree_on_largest(notes);
    Gathered calls;
    for (const Note& n : notes) calls.sizes.push_back(largest ? n.length : 0);
    calls.bytes.resize(static_cast<size_t>(calls.offsets().back()));
    const auto receive_buffers = calls.receive_buffers();
    for (size_t r = 0; r < receive_buffers.size(); ++r)
      std::memcpy(receive_buffers[r].data(), received[r].first.data(),
                  static_cast<size_t>(std::min(std::ssize(receive_buffers[r]), ahead)));
    const Rounds rounds = rounds_for(std::max<int64_t>(largest.value_or(0) - ahead, 0));
    std::vector<std::byte> part(static_cast<size_t>(rounds.window));
    std::vector<std::byte> all(receive_buffers.size() * part.size());
    for (int64_t round = 0; round < rounds.count; ++round) {
      std::ranges::copy(part_of(mine, rounds, round, ahead), part.begin());
      gather_all(part.data(), all.data(), rounds.window / 8);
      for (size_t r = 0; r < receive_buffers.size(); ++r) {
        const auto to = part_of(receive_buffers[r], rounds, round, ahead);
        std::memcpy(to.data(), all.data() + r * part.size(), to.size());
      }
    }
    for (size_t r = 0; r < receive_buffers.size(); ++r)
      if (note_of(receive_buffers[r]).sum != notes[r].sum) note(CallbackStep::answer, 0);
    return calls;
  }

  // Collective. Returns piece r of the replies on task r. With an allgather callback, every task has computed
  // all replies and calls no callback here.
  std::vector<std::byte> hand_out(const Gathered& replies) {
    auto pieces = replies.pieces();
    pieces.resize(places());
    if (call_.allgather) {
      const auto own = pieces[static_cast<size_t>(rank_)];
      return {own.begin(), own.end()};
    }
    std::vector<Note> notes;
    for (const auto piece : pieces) notes.push_back(note_of(piece));
    Note own;
    note(CallbackStep::scatterr,
         call_.scatterr(notes.data(), &own, group_, CommCallbacks::int64, words_of<Note>, 0));
    const Rounds rounds = rounds_for(agree_on_largest(notes).value_or(0));
    std::vector<std::byte> part(static_cast<size_t>(rounds.window));
    std::vector<std::byte> joined(pieces.size() * part.size());
    std::vector<std::byte> reply;
    for (int64_t round = 0; round < rounds.count; ++round) {
      for (size_t r = 0; r < pieces.size(); ++r)
        std::ranges::copy(part_of(pieces[r], rounds, round),
                          joined.begin() + static_cast<ptrdiff_t>(r * part.size()));
      note(CallbackStep::scatterr, call_.scatterr(joined.data(), part.data(), group_, CommCallbacks::int64,
                                                  static_cast<int>(rounds.window / 8), 0));
      reply.insert(reply.end(), part.begin(), part.end());
    }
    // A reply that is missing or damaged becomes a failure of the round, so that all tasks throw.
    if (own.length >= 0 && own.length <= std::ssize(reply)) reply.resize(static_cast<size_t>(own.length));
    if (note_of(reply).sum != own.sum || std::ssize(reply) != own.length) note(CallbackStep::answer, 0);
    return reply;
  }

  // The outcome of a round, which task 0 determines.
  struct RoundOutcome {
    static constexpr int64_t nobody = -1;
    static constexpr int64_t untold = -2;
    int64_t task = untold;  // the first failing task
    CallbackFailure failure;
  };

  // Throws on all tasks if a callback has failed on any task, and marks the group as dead.
  void agree_on_failures() {
    CallbackFailure told = failure_;
    std::vector<CallbackFailure> all(places());
    gather_all(&told, all.data(), words_of<CallbackFailure>);
    RoundOutcome verdict;
    if (has_all()) {
      // A failed callback delivers nothing, so this task sets its own entry. If task 0 alone decides, the
      // entry includes a failure of the call above.
      all[static_cast<size_t>(rank_)] = call_.allgather ? told : failure_;
      const auto failed = std::ranges::find_if(
          all, [](CallbackStep part) { return part != CallbackStep::none; }, &CallbackFailure::part);
      verdict = failed == all.end() ? RoundOutcome{RoundOutcome::nobody, {}}
                                    : RoundOutcome{failed - all.begin(), *failed};
    }
    if (!call_.allgather)
      note(CallbackStep::bcastr,
           call_.bcastr(&verdict, group_, CommCallbacks::int64, words_of<RoundOutcome>, 0));
    judge(verdict);
  }

  void judge(const RoundOutcome& verdict) {
    if (verdict.task == RoundOutcome::nobody) return;  // a failure noted since is reported in the next round
    if (verdict.task == RoundOutcome::untold || failure_.part != CallbackStep::none) {
      dead_ = Error(Code::io, failure_.part == CallbackStep::none ? "the bcastr callback has brought nothing"
                                                                  : failure_.text());
    } else {
      const auto task = static_cast<int>(verdict.task);
      CallbackFailure failure = verdict.failure;
      failure.part = std::clamp(failure.part, CallbackStep::none, CallbackStep::answer);
      dead_ = Error(Code::io, "task " + std::to_string(task) + ": " + failure.text(), 0, task);
    }
    throw *dead_;
  }

  // Maximum bytes per task in one call of gatherr or scatterr. Outside of mapped opens, SIONlib has called
  // existing programs only with these two callbacks, with 64-bit numbers and at most this size.
  static constexpr int64_t max_at_once = 64 << 10;

  const CommCallbacks call_;
  void* const group_;
  const int rank_;
  const int size_;
  int per_node_of_task_0_ = -1;  // value of task 0, received in a round; negative: not yet
  void* local_ = nullptr;
  bool local_made_ = false;
  CallbackFailure failure_;    // not reported yet
  std::optional<Error> dead_;  // known to all tasks
};

}  // namespace

std::unique_ptr<Comm> callback_comm(const CommCallbacks& callbacks, void* group, int rank, int size) {
  if (size < 1 || rank < 0 || rank >= size)
    throw Error(Code::invalid_argument,
                "rank " + std::to_string(rank) + " is not in a group of " + std::to_string(size));
  return star_comm(std::make_shared<CallbackRelay>(callbacks, group, rank, size));
}

void RootRelay::make_local(const LocalGroup&) {
  throw Error(Code::wrong_mode, "the tasks do not talk through callbacks");
}

void make_local_group(Comm& comm, const LocalGroup& local) {
  if (!comm.relay()) throw Error(Code::wrong_mode, "the tasks do not talk through callbacks");
  comm.relay()->make_local(local);
  comm.barrier();
}

void* local_group_of(const Comm& comm) { return comm.relay() ? comm.relay()->local() : nullptr; }

}  // namespace sheaf
