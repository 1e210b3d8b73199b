#include "multifile/collective_reader.hpp"

#include <algorithm>

#include "comm/agree.hpp"
#include "exchange/access_list.hpp"

namespace sheaf {

using exchange::Arrived;
using exchange::Extent;
using exchange::Parcel;

namespace {

constexpr int64_t most_per_collector = 16 << 20;
constexpr int64_t most_per_task = 256 << 10;
constexpr int64_t wish_bytes = 4 << 10;      // of a message with wishes
constexpr int64_t direct_bytes = 64 << 10;   // automatic: larger requests are read by the task itself
constexpr int64_t largest_gap = 16 << 10;    // reading over it costs less than another request

enum Note : size_t { failed, largest, lacks };

int64_t total(std::span<const Extent> extents) {
  int64_t sum = 0;
  for (const Extent& extent : extents) sum += extent.length;
  return sum;
}

}  // namespace

struct CollectiveReader::Verdict {
  int64_t failed = 0;
  int64_t largest = 0;
  int64_t more = 0;  // whether a task needs another round for this call
};

// What a task wants to have read for it.
struct CollectiveReader::Wish {
  Parcel parcel{wish_bytes};
  std::vector<std::byte> memory;  // for the bytes, had before anybody sends them
  bool lacks = false;             // it will need more to fill its request
};

CollectiveReader::CollectiveReader(Comm& file, CollectiveGroup group, const CollectivePlan& plan, ReadStream& stream,
                                   FetchedFile& fetched, const CollectiveMeans& means)
    : file_(file),
      group_(std::move(group)),
      stream_(stream),
      fetched_(fetched),
      capacity_(std::clamp<int64_t>(most_per_collector / group_.size(), 1, most_per_task)),
      automatic_(plan.is_automatic()),
      takes_part_(means.takes_part),
      mover_(means.mover.get()) {
  if (!group_.is_collector() || mover_) return;
  const auto members = static_cast<size_t>(group_.size());
  rooms_ = std::make_unique_for_overwrite<int64_t[]>(members * wish_bytes / sizeof(int64_t));
  arrived_.resize(members);
}

void CollectiveReader::plan_next(int64_t request) {
  const int64_t calls = request > 0 ? capacity_ / request : calls_left_;
  calls_left_ = std::max<int64_t>(0, calls - 1);
  largest_ = 0;
}

void CollectiveReader::read(std::span<std::byte> out, const std::optional<Error>& mine) {
  largest_ = std::max(largest_, std::ssize(out));
  std::optional<ReadPosition> before;
  std::optional<Error> problem = mine;
  if (!problem) problem = attempt([&] { before = stream_.park(); });
  try {
    if (calls_left_ == 0) {
      problem = read_in_rounds(out, problem);
    } else {
      --calls_left_;
      if (!problem) problem = attempt([&] { stream_.read(out); });
    }
    // Also where all bytes are here already: a task that has jumped, or wants more than it did, reads alone and may fail.
    agree(file_, problem);
  } catch (...) {
    if (before) stream_.seek_block(before->block, before->offset);
    throw;
  }
}

// What this task could not do; what fails in a round is thrown on all.
std::optional<Error> CollectiveReader::read_in_rounds(std::span<std::byte> out, std::optional<Error> problem) {
  if ((!takes_part_ || (automatic_ && std::ssize(out) >= direct_bytes)) && !problem) {
    problem = attempt([&] { stream_.read(out); });
    out = {};
  }
  for (;;) {
    Wish wish;
    if (!problem) problem = attempt([&] { wish = next_wish(std::ssize(out)); });
    const Verdict verdict = mover_ ? moving_round(wish, problem) : round(wish, problem);
    plan_next(verdict.largest);
    const auto n = std::min(out.size(), static_cast<size_t>(wish.parcel.bytes()));
    if (!problem) problem = attempt([&] { stream_.read(out.first(n)); });
    out = out.subspan(n);
    if (!verdict.more) return problem;
  }
}

// The stream from its position on, as far as a round goes: a request first, and what may be read next.
CollectiveReader::Wish CollectiveReader::next_wish(int64_t left) const {
  Wish wish;
  int64_t room = takes_part_ ? capacity_ : 0;
  int64_t offset = stream_.position();
  for (int64_t b = stream_.block(); b < stream_.sizes().count && room > 0; ++b, offset = 0) {
    const int64_t n = std::min(room, stream_.sizes()[b] - offset);
    if (n <= 0) continue;
    if (!wish.parcel.append_wish({stream_.geometry().offset(b) + offset, n})) break;
    room -= n;
  }
  wish.memory.resize(static_cast<size_t>(wish.parcel.bytes()));
  wish.lacks = left > wish.parcel.bytes();
  return wish;
}

CollectiveReader::Verdict CollectiveReader::round(Wish& wish, const std::optional<Error>& mine) {
  int64_t note[4] = {};
  note[Note::failed] = mine.has_value();
  note[Note::largest] = largest_;
  note[Note::lacks] = wish.lacks;
  exchange::Head bare;
  std::ranges::copy(note, bare.note);
  bare.note[Note::failed] = 1;
  std::span<const std::byte> message = std::as_bytes(std::span(&bare, 1));
  attempt([&] { message = wish.parcel.seal(note); });
  std::optional<Error> problem = attempt([&] { receive_wishes(message); });
  if (!problem && group_.is_collector()) problem = attempt([&] { answer_wishes(); });

  Verdict verdict;
  if (group_.is_collector()) {
    verdict.failed = problem.has_value();
    for (const Arrived& one : arrived_) {
      verdict.failed |= one.head.note[Note::failed];
      verdict.largest = std::max(verdict.largest, one.head.note[Note::largest]);
      verdict.more |= one.head.note[Note::lacks];
    }
  }
  int64_t values[4] = {verdict.failed, verdict.largest, verdict.more, 0};
  group_.settle(values);
  verdict = {values[0], values[1], values[2]};
  if (verdict.failed) {
    agree(file_, mine ? mine : problem);
    throw Error(Code::io, "'" + fetched_.path() + "': a task could not take part in a collective read");
  }
  hand_out(wish);
  return verdict;
}

// Where the program moves the bytes.
CollectiveReader::Verdict CollectiveReader::moving_round(Wish& wish, const std::optional<Error>& mine) {
  int64_t values[4] = {mine.has_value(), largest_, wish.lacks, std::ssize(wish.parcel.extents())};
  file_.all_max(values);
  if (values[0]) {
    agree(file_, mine);
    throw Error(Code::io, "'" + fetched_.path() + "': a task could not take part in a collective read");
  }
  const std::span<const Extent> extents = wish.parcel.extents();
  agree(file_, move_all(wish, values[3]));
  fetched_.take({extents.begin(), extents.end()}, std::move(wish.memory));
  return {0, values[1], values[2]};
}

// One extent of every member per step, into the wish's memory. A failure does not end the steps, so that nobody waits in vain.
std::optional<Error> CollectiveReader::move_all(Wish& wish, int64_t steps) {
  std::span<std::byte> memory = wish.memory;
  std::vector<exchange::Piece<std::byte>> pieces;
  for (const Extent& extent : wish.parcel.extents()) {
    pieces.push_back({extent.offset, memory.first(static_cast<size_t>(extent.length))});
    memory = memory.subspan(static_cast<size_t>(extent.length));
  }
  const auto read = [&](std::span<std::byte> data, int64_t offset) { exchange::read_pieces(fetched_.real(), {{offset, data}}, 0); };
  std::optional<Error> problem;
  if (group_.is_collector()) {
    problem = attempt([&] { exchange::read_pieces(fetched_.real(), std::move(pieces), largest_gap); });
    pieces.clear();
  }
  if (group_.size() == 1) return problem;
  for (int64_t step = 0; step < steps; ++step) {
    const auto piece = step < std::ssize(pieces) ? pieces[static_cast<size_t>(step)] : exchange::Piece<std::byte>{};
    const auto failed = attempt([&] { mover_->scatter(piece.memory, piece.offset, group_.tasks(), read); });
    if (!problem) problem = failed;
  }
  return problem;
}

void CollectiveReader::receive_wishes(std::span<const std::byte> own) {
  if (!group_.is_collector()) {
    group_.exchange({{group_.collector(), own}}, {})->finish();
    return;
  }
  std::vector<Incoming> incoming;
  for (int member = 0; member < group_.size(); ++member)
    if (member != group_.collector())
      incoming.push_back({member, std::span(reinterpret_cast<std::byte*>(rooms_.get()) + int64_t{member} * wish_bytes,
                                            static_cast<size_t>(wish_bytes))});
  const std::vector<int64_t> received = group_.exchange({}, incoming)->finish();
  arrived_[static_cast<size_t>(group_.collector())] = exchange::open_parcel(own);
  for (size_t i = 0; i < received.size(); ++i)
    arrived_[static_cast<size_t>(incoming[i].peer)] =
        exchange::open_parcel(incoming[i].room.first(static_cast<size_t>(received[i])));
}

// At the collector: the bytes of all members' wishes, member by member.
void CollectiveReader::answer_wishes() {
  int64_t bytes = 0;
  for (const Arrived& one : arrived_) bytes += total(one.extents);
  answers_.resize(static_cast<size_t>(bytes));
  std::vector<exchange::Piece<std::byte>> pieces;
  std::span<std::byte> memory = answers_;
  for (const Arrived& one : arrived_)
    for (const Extent& extent : one.extents) {
      pieces.push_back({extent.offset, memory.first(static_cast<size_t>(extent.length))});
      memory = memory.subspan(static_cast<size_t>(extent.length));
    }
  read_pieces(fetched_.real(), std::move(pieces), largest_gap);
}

void CollectiveReader::hand_out(Wish& wish) {
  const std::span<const Extent> extents = wish.parcel.extents();
  std::vector<std::byte>& bytes = wish.memory;
  std::vector<Outgoing> outgoing;
  std::vector<Incoming> incoming;
  if (group_.is_collector()) {
    std::span<const std::byte> memory = answers_;
    for (int member = 0; member < group_.size(); ++member) {
      const auto n = static_cast<size_t>(total(arrived_[static_cast<size_t>(member)].extents));
      const bool own = member == group_.collector();
      if (own) std::ranges::copy(memory.first(n), bytes.begin());
      if (!own && n > 0) outgoing.push_back({member, memory.first(n)});
      memory = memory.subspan(n);
    }
  } else if (!bytes.empty()) {
    incoming.push_back({group_.collector(), bytes});
  }
  group_.exchange(std::move(outgoing), std::move(incoming))->finish();
  fetched_.take({extents.begin(), extents.end()}, std::move(bytes));
}

}  // namespace sheaf
