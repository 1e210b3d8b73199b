#include "comm_teams/callback_comm.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/crc32c.hpp"
#include "base/error.hpp"
#include "comm/agree.hpp"
#include "comm/helpers.hpp"
#include "comm/host_name.hpp"
#include "comm_teams/star_comm.hpp"

namespace sheaf {
namespace {

// What can fail in a round; travels as a number.
enum class Part : int64_t { none, barrier, bcastr, gatherr, scatterr, create, allgather, size, answer };

struct Failure {
  Part part = Part::none;
  int64_t result = 0;

  std::string text() const {
    static constexpr const char* names[] = {
        "", "barrier", "bcastr", "gatherr", "scatterr", "create_local_commgroup", "allgather"};
    if (part == Part::size) return "messages of more than 2 GiB do not fit through the callbacks";
    if (part == Part::answer)
      return "the callbacks brought other messages than were sent, or there is no memory for them";
    return std::string("the ") + names[static_cast<size_t>(part)] + " callback returned " +
           std::to_string(result);
  }
};

class CallbackHub final : public StarHub {
 public:
  CallbackHub(const CommCallbacks& callbacks, void* group, int rank, int size)
      : call_(callbacks), group_(group), rank_(rank), size_(size) {}
  ~CallbackHub() override {
    if (local_made_) call_.free_group(local_);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  int64_t node() override { return static_cast<int64_t>(std::hash<std::string>{}(host_name()) >> 1); }
  int tasks_per_node() override {
    if (per_node_of_task_0_ >= 0) return per_node_of_task_0_;
    const char* const topology = std::getenv("SHEAF_TOPOLOGY");
    return topology ? sheaf::tasks_per_node(topology) : 0;
  }

  std::vector<std::byte> round(std::span<const std::byte> mine, const Answer& answer) override {
    if (dead_) throw *dead_;
    if (size_ == 1) return answer({{mine.begin(), mine.end()}, {std::ssize(mine)}}).bytes;
    if (call_.allgather) return round_of_all(mine, answer);
    const Gathered calls = collect(mine);
    Gathered replies;
    if (is_root() && !calls.sizes.empty() && attempt([&] { replies = answer(calls); })) note(Part::answer, 0);
    std::vector<std::byte> reply = hand_out(replies);
    agree_on_failures();
    return reply;
  }

  void make_local(const LocalGroup& local) override {
    if (dead_) throw *dead_;
    note(Part::create, call_.create_group(&local_, group_, rank_, size_, local.rank, local.size,
                                          local.filenumber, local.numfiles));
    local_made_ = failure_.part != Part::create;
    if (size_ == 1 && !local_made_) throw *(dead_ = Error(Code::io, failure_.text()));
    if (size_ > 1 && !call_.allgather) note(Part::barrier, call_.barrier(group_));
    // The next round tells everyone.
  }

  void* local() const override { return local_; }

 private:
  bool is_root() const { return rank_ == 0; }

  // Keeps the first failure until it has been told.
  void note(Part part, int result) {
    const bool failed = part == Part::answer || part == Part::size || result != 0;
    if (failed && failure_.part == Part::none) failure_ = {part, result};
  }

  // What the root and a task tell each other of a message before it travels.
  struct Note {
    int64_t length = -1;  // bytes
    int64_t sum = 0;      // CRC32C
  };
  static constexpr int note_words = sizeof(Note) / sizeof(int64_t);
  // Begun with something, so that zeros which nobody sent are no message either.
  static Note note_of(std::span<const std::byte> message) {
    return {std::ssize(message), crc32c(0x53686561, message)};
  }

  // How a message of every task travels: in so many rounds of so many words for each task.
  struct Rounds {
    int64_t words = 0;  // of 8 bytes
    int64_t count = 0;
    bool sound = true;                            // the lengths make sense; else nothing travels
    int64_t window() const { return 8 * words; }  // bytes
  };
  static Rounds rounds_for(int64_t largest) {
    const int64_t window = std::min(most_at_once, (largest + 7) / 8 * 8);
    return {window / 8, largest == 0 ? 0 : (largest + window - 1) / window, true};
  }

  // Bytes of the longest message; nothing if they cannot be what was sent, or are more than a collective
  // moves.
  static std::optional<int64_t> largest_of(std::span<const Note> notes) {
    int64_t largest = 0;
    int64_t total = 0;
    for (const Note& n : notes) {
      if (n.length < 0 || n.length > INT_MAX || (total += n.length) > INT_MAX) return std::nullopt;
      largest = std::max(largest, n.length);
    }
    return largest;
  }

  // Collective. From the longest message, which the root knows, the rounds that all make.
  Rounds agree_on_rounds(std::span<const Note> notes) {
    const std::optional<int64_t> found = largest_of(notes);  // of none but at the root
    int64_t largest = found.value_or(0);
    bool sound = found.has_value();
    note(Part::bcastr, call_.bcastr(&largest, group_, CommCallbacks::int64, 1, 0));
    sound = sound && largest >= 0 && largest <= INT_MAX;
    if (!sound) note(Part::size, 0);
    return sound ? rounds_for(largest) : Rounds{0, 0, false};
  }

  // Of a message without its first `ahead` bytes, what travels in a round.
  static std::span<const std::byte> part_of(std::span<const std::byte> message, const Rounds& rounds,
                                            int64_t round, int64_t ahead = 0) {
    const auto from = std::min<int64_t>(ahead + round * rounds.window(), std::ssize(message));
    return message.subspan(static_cast<size_t>(from),
                           static_cast<size_t>(std::min(rounds.window(), std::ssize(message) - from)));
  }

  // Room for the messages that the notes speak of; for none if they are not sound.
  static Gathered room_for(std::span<const Note> notes, bool sound) {
    Gathered room;
    for (const Note& n : notes) room.sizes.push_back(sound ? n.length : 0);
    room.bytes.resize(static_cast<size_t>(room.offsets().back()));
    return room;
  }

  // Collective. Fills `all`, where there is room, with what the tasks have, without the first `ahead` bytes
  // of each. gather(mine, all): moves a window of every task.
  template <class Gather>
  static void move(std::span<const std::byte> mine, const Gathered& all, const Rounds& rounds, int64_t ahead,
                   Gather gather) {
    std::vector<std::byte> part(static_cast<size_t>(rounds.window()));
    std::vector<std::byte> joined(all.sizes.size() * part.size());
    const auto room = all.pieces();
    for (int64_t round = 0; round < rounds.count; ++round) {
      std::ranges::copy(part_of(mine, rounds, round, ahead), part.begin());
      gather(part.data(), joined.data());
      for (size_t r = 0; r < room.size(); ++r) {
        const auto to = part_of(room[r], rounds, round, ahead);
        std::memcpy(const_cast<std::byte*>(to.data()), joined.data() + r * part.size(), to.size());
      }
    }
  }

  void check_sums(const Gathered& messages, std::span<const Note> notes) {
    const auto pieces = messages.pieces();
    for (size_t r = 0; r < pieces.size(); ++r)
      if (note_of(pieces[r]).sum != notes[r].sum) note(Part::answer, 0);
  }

  // Contributions of all at the root; empty there if they could not be had.
  Gathered collect(std::span<const std::byte> mine) {
    Note own = note_of(mine);
    std::vector<Note> notes(is_root() ? static_cast<size_t>(size_) : 0);
    note(Part::gatherr, call_.gatherr(&own, notes.data(), group_, CommCallbacks::int64, note_words, 0));
    const Rounds rounds = agree_on_rounds(notes);
    Gathered calls = room_for(notes, rounds.sound);
    move(mine, calls, rounds, 0, [&](std::byte* part, std::byte* joined) {
      note(Part::gatherr,
           call_.gatherr(part, joined, group_, CommCallbacks::int64, static_cast<int>(rounds.words), 0));
    });
    if (rounds.sound) check_sums(calls, notes);
    if (failure_.part != Part::none) return {};
    return calls;
  }

  // Piece r of the root's replies to task r.
  std::vector<std::byte> hand_out(const Gathered& replies) {
    auto pieces = replies.pieces();
    pieces.resize(is_root() ? static_cast<size_t>(size_) : 0);
    std::vector<Note> notes;
    for (const auto piece : pieces) notes.push_back(note_of(piece));
    Note own;
    note(Part::scatterr, call_.scatterr(notes.data(), &own, group_, CommCallbacks::int64, note_words, 0));
    const Rounds rounds = agree_on_rounds(notes);
    std::vector<std::byte> part(static_cast<size_t>(rounds.window()));
    std::vector<std::byte> joined(pieces.size() * part.size());
    std::vector<std::byte> reply;
    for (int64_t round = 0; round < rounds.count; ++round) {
      for (size_t r = 0; r < pieces.size(); ++r)
        std::ranges::copy(part_of(pieces[r], rounds, round),
                          joined.begin() + static_cast<ptrdiff_t>(r * part.size()));
      note(Part::scatterr, call_.scatterr(joined.data(), part.data(), group_, CommCallbacks::int64,
                                          static_cast<int>(rounds.words), 0));
      reply.insert(reply.end(), part.begin(), part.end());
    }
    // What has not come, or came as something else, is an error of all.
    if (own.length >= 0 && own.length <= std::ssize(reply)) reply.resize(static_cast<size_t>(own.length));
    if (note_of(reply).sum != own.sum || std::ssize(reply) != own.length) note(Part::answer, 0);
    return reply;
  }

  // The first bytes of a message travel with its note.
  struct Envelope {
    Note note;
    int64_t per_node = 0;
    std::array<std::byte, 488> first{};
  };

  // A round in which every task gets the calls of all, and answers them for itself.
  std::vector<std::byte> round_of_all(std::span<const std::byte> mine, const Answer& answer) {
    const auto all = static_cast<size_t>(size_);
    Envelope own{note_of(mine), per_node_of_task_0_ >= 0 ? per_node_of_task_0_ : tasks_per_node(), {}};
    std::ranges::copy(mine.first(std::min(mine.size(), own.first.size())), own.first.begin());
    std::vector<Envelope> envelopes(all);
    note(Part::allgather, call_.allgather(&own, envelopes.data(), group_, sizeof own));
    per_node_of_task_0_ = static_cast<int>(envelopes[0].per_node);
    std::vector<Note> notes;
    for (const Envelope& e : envelopes) notes.push_back(e.note);
    const int64_t largest = largest_of(notes).value_or(0);
    Gathered calls = room_for(notes, largest > 0);
    const std::vector<int64_t> offsets = calls.offsets();
    for (size_t r = 0; r < all; ++r)
      std::ranges::copy(std::span(envelopes[r].first)
                            .first(std::min(static_cast<size_t>(calls.sizes[r]), own.first.size())),
                        calls.bytes.begin() + offsets[r]);
    const int64_t ahead = std::ssize(own.first);
    const Rounds rounds = rounds_for(std::max<int64_t>(largest - ahead, 0));
    move(mine, calls, rounds, ahead, [&](std::byte* part, std::byte* joined) {
      note(Part::allgather, call_.allgather(part, joined, group_, rounds.window()));
    });
    check_sums(calls, notes);
    Gathered replies;
    if (failure_.part == Part::none && attempt([&] { replies = answer(calls); })) note(Part::answer, 0);
    std::vector<int64_t> failures(2 * all);
    int64_t told[2] = {static_cast<int64_t>(failure_.part), failure_.result};
    note(Part::allgather, call_.allgather(told, failures.data(), group_, sizeof told));
    std::ranges::copy(told, failures.begin() + 2 * rank_);  // a callback that fails brings nothing
    judge(first_failure(failures));
    const auto reply = replies.pieces()[static_cast<size_t>(rank_)];
    return {reply.begin(), reply.end()};
  }

  static constexpr int64_t nobody = -1;
  static constexpr int64_t untold = -2;
  using Verdict = std::array<int64_t, 3>;  // task, part and result of a failure

  // Of the part and result of each task.
  static Verdict first_failure(std::span<const int64_t> all) {
    for (size_t at = 0; at + 1 < all.size(); at += 2)
      if (all[at] != 0) return {static_cast<int64_t>(at / 2), all[at], all[at + 1]};
    return {nobody, 0, 0};
  }

  // Throws on all tasks if a callback has failed on any, and makes the group dead.
  void agree_on_failures() {
    int64_t mine[2] = {static_cast<int64_t>(failure_.part), failure_.result};
    std::vector<int64_t> all(is_root() ? 2 * static_cast<size_t>(size_) : 2);
    note(Part::gatherr, call_.gatherr(mine, all.data(), group_, CommCallbacks::int64, 2, 0));
    Verdict verdict = {untold, 0, 0};
    if (is_root()) {
      all[0] = static_cast<int64_t>(failure_.part);
      all[1] = failure_.result;
      verdict = first_failure(all);
    }
    note(Part::bcastr, call_.bcastr(verdict.data(), group_, CommCallbacks::int64, 3, 0));
    judge(verdict);
  }

  void judge(const Verdict& verdict) {
    if (verdict[0] == nobody) return;  // a failure noted since is told in the next round
    if (verdict[0] == untold || failure_.part != Part::none) {
      dead_ = Error(Code::io, failure_.part == Part::none ? "the bcastr callback has brought nothing"
                                                          : failure_.text());
    } else {
      const auto part =
          static_cast<Part>(std::clamp<int64_t>(verdict[1], 0, static_cast<int64_t>(Part::answer)));
      const auto task = static_cast<int>(verdict[0]);
      dead_ =
          Error(Code::io, "task " + std::to_string(task) + ": " + Failure{part, verdict[2]}.text(), 0, task);
    }
    throw *dead_;
  }

  // Bytes of a task in one call of gatherr or scatterr: with these alone, and numbers of 64 bits, programs in
  // circulation have ever been called outside of mapped opens.
  static constexpr int64_t most_at_once = 64 << 10;

  const CommCallbacks call_;
  void* const group_;
  const int rank_;
  const int size_;
  int per_node_of_task_0_ = -1;  // as it told all in a round; negative: not yet
  void* local_ = nullptr;
  bool local_made_ = false;
  Failure failure_;            // not told yet
  std::optional<Error> dead_;  // what all know
};

}  // namespace

std::unique_ptr<Comm> callback_comm(const CommCallbacks& callbacks, void* group, int rank, int size) {
  if (size < 1 || rank < 0 || rank >= size)
    throw Error(Code::invalid_argument,
                "rank " + std::to_string(rank) + " is not in a group of " + std::to_string(size));
  return star_comm(std::make_shared<CallbackHub>(callbacks, group, rank, size));
}

void StarHub::make_local(const LocalGroup&) {
  throw Error(Code::wrong_mode, "the tasks do not talk through callbacks");
}

void make_local_group(Comm& comm, const LocalGroup& local) {
  if (!comm.hub()) throw Error(Code::wrong_mode, "the tasks do not talk through callbacks");
  comm.hub()->make_local(local);
  comm.barrier();
}

void* local_group_of(const Comm& comm) { return comm.hub() ? comm.hub()->local() : nullptr; }

}  // namespace sheaf
