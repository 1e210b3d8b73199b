#include "multifile/collective_writer.hpp"

#include <algorithm>
#include <array>

#include "exchange/access_list.hpp"
#include "exchange/rounds.hpp"

namespace sheaf {

using exchange::Arrived;
using exchange::Parcel;

namespace {

constexpr int64_t most_per_collector = 16 << 20;  // bytes of first parcels
constexpr int64_t most_per_task = 256 << 10;

int64_t capacity_for(int group_size) {
  constexpr int64_t least = 256;
  const int64_t share = std::min(most_per_task, most_per_collector / group_size);
  return std::max(least, share / int64_t{sizeof(int64_t)} * int64_t{sizeof(int64_t)});
}

// What a task says in a round, in the head of its parcel.
enum Note : size_t { failed, largest, later, piece };

}  // namespace

// What the tasks of a file come to in a round.
struct CollectiveWriter::Verdict {
  int64_t failed = 0;
  int64_t largest = 0;  // request since the last round
  int64_t any = 0;      // whether bytes travel
  int64_t later = 0;    // parcels behind the first ones, of the group or the fullest of those in step with it
};

CollectiveWriter::CollectiveWriter(Comm& file, NewGroups groups, const CollectivePlan& plan, WriteStream& stream,
                                   std::shared_ptr<CollectedFile> collected, const CollectiveMeans& means)
    : file_(file),
      group_(std::move(groups.group)),
      stream_(stream),
      collected_(std::move(collected)),
      capacity_(capacity_for(group_.size())),
      merge_(plan.merge),
      automatic_(plan.is_automatic()),
      takes_part_(means.takes_part),
      mover_(plan.merge ? nullptr : means.mover.get()),
      at_once_(plan.merge) {
  const auto members = static_cast<size_t>(group_.size());
  if (is_collector() && !mover_) {
    rooms_ = std::make_unique_for_overwrite<int64_t[]>((members + 1) * static_cast<size_t>(capacity_) / sizeof(int64_t));
    arrived_.resize(members);
  }
  if (!merge_) {
    collected_->hold(capacity_, automatic_ ? WriteStream::direct_bytes : INT64_MAX);
    if (JournalWriter* const journal = stream_.make_journal()) journal->defer();
  }
  plan_next(groups.average_request);
}

// Memory for a parcel at the collector: one for each member, and one more.
std::span<std::byte> CollectiveWriter::room(int number) const {
  return {reinterpret_cast<std::byte*>(rooms_.get()) + static_cast<size_t>(number) * static_cast<size_t>(capacity_),
          static_cast<size_t>(capacity_)};
}

// The number of calls until the next round, from the largest request that is to be expected; nothing is learnt from none.
void CollectiveWriter::plan_next(int64_t request) {
  constexpr int64_t around = 2 * sizeof(exchange::Extent);
  if (request > 0) {
    at_once_ = merge_ || 2 * request > capacity_ || (automatic_ && request >= WriteStream::direct_bytes);
    calls_between_ = std::max<int64_t>(1, (capacity_ - int64_t{sizeof(exchange::Head)}) / (request + around));
  }
  calls_left_ = calls_between_;
  largest_ = 0;
}

void CollectiveWriter::write(std::span<const std::byte> data, const std::optional<Error>& mine) {
  largest_ = std::max(largest_, std::ssize(data));
  if (merge_) return write_merged(data, mine);
  if (at_once_) return write_now(data, mine);
  if (calls_left_ == 0) round(Kind::write_behind, collected_->held(), std::nullopt);
  --calls_left_;
  if (mine) tell_all(*mine);
  write_between(data);
}

// Outside of a round. What the task cannot write itself now, it brings to the next one, where all learn of it.
void CollectiveWriter::write_between(std::span<const std::byte> data) {
  if (!attempt([&] { stream_.write(data); })) return;
  const auto failed = attempt([&] {
    collected_->begin_unbounded(true);
    stream_.write(data);
  });
  collected_->bound_again();
  if (failed) tell_all(*failed);
}

// This task now, the others in the next round.
void CollectiveWriter::tell_all(const Error& problem) {
  if (!behind_) behind_ = problem;
  throw problem;
}

void CollectiveWriter::write_now(std::span<const std::byte> data, const std::optional<Error>& mine) {
  std::optional<Error> problem = mine;
  std::optional<WriteStream::Mark> before;
  if (!problem) {
    problem = attempt([&] {
      before = stream_.mark();
      collected_->begin_unbounded();
      stream_.write(data);
    });
  }
  const size_t added = collected_->bound_again();
  try {
    round(Kind::at_once, collected_->held(), problem);
  } catch (...) {
    auto& held = collected_->held();
    held.erase(held.end() - static_cast<ptrdiff_t>(std::min(added, held.size())), held.end());
    if (before) stream_.return_to(*before);
    throw;
  }
}

// The pieces of all members go into the collector's stream; the own streams of the others stay as they are.
void CollectiveWriter::write_merged(std::span<const std::byte> data, const std::optional<Error>& mine) {
  std::vector<Parcel> parcels;
  std::optional<Error> problem = mine;
  std::optional<WriteStream::Mark> before;
  if (!problem) {
    problem = attempt([&] {
      before = stream_.mark();
      for (int64_t offset = 0; !data.empty();) {
        const int64_t taken = parcels.emplace_back(capacity_).append(data, offset);
        data = data.subspan(static_cast<size_t>(taken));
        offset += taken;
      }
    });
  }
  try {
    round(Kind::at_once, parcels, problem);
  } catch (...) {
    if (before && is_collector()) stream_.return_to(*before);
    throw;
  }
}

void CollectiveWriter::round(Kind kind, std::vector<Parcel>& parcels, std::optional<Error> mine) {
  // Pieces that are large anyway gain nothing by travelling.
  if (automatic_ && !merge_ && !mine && !parcels.empty()) {
    int64_t extents = 0, bytes = 0;
    for (const Parcel& parcel : parcels) {
      extents += std::ssize(parcel.extents());
      bytes += parcel.bytes();
    }
    if (bytes >= extents * WriteStream::direct_bytes) mine = attempt([&] { collected_->write_held(); });
  }
  if (!takes_part_ && !merge_ && !mine) mine = attempt([&] { collected_->write_held(); });
  if (!mine) mine = std::exchange(behind_, std::nullopt);
  const Verdict verdict = mover_ ? judge_moving(parcels, mine) : judge(parcels, mine);
  plan_next(verdict.largest);
  if (verdict.failed) {
    if (!merge_) collected_->take_back();
    agree(file_, mine);
    throw Error(Code::io, "'" + collected_->path() + "': a task could not take part in a collective write");
  }
  if (kind == Kind::write_behind) {
    collected_->ship();
    behind_ = take_all(verdict, collected_->shipped());
    return;
  }
  collected_->shipped().clear();
  if (!verdict.any) return;
  const auto outcome = take_all(verdict, parcels);
  if (kind == Kind::last) {
    behind_ = outcome;
    return;
  }
  agree(file_, outcome);
  parcels.clear();
}

// First parcels to the collectors, who tell what all tasks of the file say together.
CollectiveWriter::Verdict CollectiveWriter::judge(const std::vector<Parcel>& parcels, const std::optional<Error>& mine) {
  int64_t note[4] = {};
  note[Note::failed] = mine.has_value();
  note[Note::largest] = largest_;
  note[Note::later] = std::max<int64_t>(0, std::ssize(parcels) - 1);
  for (const Parcel& parcel : parcels) note[Note::piece] += parcel.bytes();

  exchange::Head bare;  // if there is no memory to seal a parcel
  std::span<const std::byte> message;
  if (parcels.empty() || attempt([&] { message = const_cast<Parcel&>(parcels.front()).seal(note); })) {
    std::ranges::copy(note, bare.note);
    if (!parcels.empty()) bare.note[Note::failed] = 1;
    message = std::as_bytes(std::span(&bare, 1));
  }
  const auto damaged = attempt([&] { receive_first(message); });

  Verdict verdict;
  if (is_collector()) {
    verdict.failed = damaged.has_value();
    for (const Arrived& one : arrived_) {
      verdict.failed |= one.head.note[Note::failed];
      verdict.largest = std::max(verdict.largest, one.head.note[Note::largest]);
      verdict.later += one.head.note[Note::later];
      verdict.any |= one.head.extents > 0;
    }
  }
  int64_t values[4] = {verdict.failed, verdict.largest, verdict.any, verdict.later};
  group_.settle(values);
  return {values[0], values[1], values[2], values[3]};
}

void CollectiveWriter::receive_first(std::span<const std::byte> own) {
  if (!is_collector()) {
    group_.exchange({{group_.collector(), own}}, {})->finish();
    return;
  }
  std::vector<Incoming> incoming;
  for (int member = 0; member < group_.size(); ++member)
    if (member != group_.collector()) incoming.push_back({member, room(member)});
  const std::vector<int64_t> received = group_.exchange({}, incoming)->finish();
  arrived_[static_cast<size_t>(group_.collector())] = exchange::open_parcel(own);
  for (size_t i = 0; i < received.size(); ++i)
    arrived_[static_cast<size_t>(incoming[i].peer)] =
        exchange::open_parcel(incoming[i].room.first(static_cast<size_t>(received[i])));
}

// Where the program moves the bytes: as many steps as any task has extents.
CollectiveWriter::Verdict CollectiveWriter::judge_moving(const std::vector<Parcel>& parcels, const std::optional<Error>& mine) {
  int64_t values[3] = {mine.has_value(), largest_, 0};
  for (const Parcel& parcel : parcels) values[2] += std::ssize(parcel.extents());
  file_.all_max(values);
  return {values[0], values[1], values[2] > 0, values[2]};
}

// One extent of every member per step. A failure does not end the steps, so that nobody waits in vain.
std::optional<Error> CollectiveWriter::move_all(const std::vector<Parcel>& parcels, int64_t steps) {
  std::vector<exchange::Piece<const std::byte>> pieces;
  std::optional<Error> problem = attempt([&] {
    for (const Parcel& parcel : parcels) add_pieces(pieces, parcel.extents(), parcel.data());
  });
  const auto write = [&](std::span<const std::byte> data, int64_t offset) { collected_->real().write_at(data, offset); };
  if (is_collector()) {
    if (!problem) problem = attempt([&] { write_pieces(collected_->real(), std::move(pieces)); });
    pieces.clear();
  }
  if (group_.size() == 1) return problem;
  for (int64_t step = 0; step < steps; ++step) {
    const auto piece = step < std::ssize(pieces) ? pieces[static_cast<size_t>(step)] : exchange::Piece<const std::byte>{};
    const auto failed = attempt([&] { mover_->gather(piece.memory, piece.offset, group_.tasks(), write); });
    if (!problem) problem = failed;
  }
  return problem;
}

// Collective over the group and those in step with it, if any task has more than one parcel. At the collector, writes
// everything.
std::optional<Error> CollectiveWriter::take_all(const Verdict& verdict, std::vector<Parcel>& parcels) {
  if (mover_) return move_all(parcels, verdict.later);
  std::optional<Error> problem;
  merged_ = 0;
  if (is_collector() && !merge_) {
    problem = attempt([&] {
      std::vector<exchange::Piece<const std::byte>> pieces;
      for (const Arrived& one : arrived_) add_pieces(pieces, one.extents, one.data);
      write_pieces(collected_->real(), std::move(pieces));
    });
  }
  if (verdict.later > 0) {
    const auto failed = take_later(parcels, verdict.later);
    if (!problem) problem = failed;
  }
  if (is_collector() && merge_ && !problem) problem = attempt([&] { begin_merged(std::ssize(arrived_)); });
  return problem;
}

// Member by member, so that the order of each is kept.
std::optional<Error> CollectiveWriter::take_later(std::vector<Parcel>& parcels, int64_t later) {
  const int64_t own = std::max<int64_t>(0, std::ssize(parcels) - 1);
  std::vector<int> senders;     // of each step, at the collector
  std::vector<int64_t> begins;  // the step in which each member begins
  for (size_t m = 0; m < arrived_.size(); ++m) {
    begins.push_back(std::ssize(senders));
    senders.insert(senders.end(), static_cast<size_t>(arrived_[m].head.note[Note::later]), static_cast<int>(m));
  }
  const int64_t first = group_.deal(begins);
  // Two rooms in turn at the collector: the one behind all members, and that of its own parcel, which needs none.
  const auto room_in = [&](int64_t step) { return room(step % 2 == 0 ? group_.collector() : group_.size()); };
  const auto prepare = [&](int64_t step) {
    exchange::Step messages;
    if (step >= first && step < first + own) {
      constexpr int64_t note[4] = {};
      messages.outgoing.push_back({group_.collector(), parcels[static_cast<size_t>(1 + step - first)].seal(note)});
    }
    if (step < std::ssize(senders)) messages.incoming.push_back({senders[static_cast<size_t>(step)], room_in(step)});
    return messages;
  };
  const auto use = [&](int64_t step, const std::vector<int64_t>& received) {
    if (step >= std::ssize(senders)) return;
    const Arrived one = exchange::open_parcel(room_in(step).first(static_cast<size_t>(received[0])));
    if (merge_) {
      begin_merged(senders[static_cast<size_t>(step)] + 1);
      stream_.write_filling({}, one.data);
      return;
    }
    std::vector<exchange::Piece<const std::byte>> pieces;
    add_pieces(pieces, one.extents, one.data);
    write_pieces(collected_->real(), std::move(pieces));
  };
  return exchange::in_rounds(group_, later, prepare, use);
}

// Appends the first parcels of the members before `member` that are not in the stream yet; the place for the rest of the
// last one is chosen with it.
void CollectiveWriter::begin_merged(int64_t member) {
  for (; merged_ < member; ++merged_) {
    const Arrived& one = arrived_[static_cast<size_t>(merged_)];
    if (one.data.empty()) continue;
    const int64_t whole = one.head.note[Note::piece];
    if (whole <= stream_.geometry().size) stream_.ensure_free_space(whole);
    stream_.write_filling({}, one.data);
  }
}

std::optional<Error> CollectiveWriter::finish() {
  // A failure that the program has not been told yet may be over: then the second try brings everything.
  std::optional<Error> problem;
  for (int tries = 2; tries > 0; --tries) {
    problem = attempt([&] {
      std::vector<Parcel> nothing;
      round(Kind::last, merge_ ? nothing : collected_->held(), std::nullopt);
    });
    if (!problem) break;
  }
  if (!problem) problem = behind_;
  collected_->hold(0, 0);
  return problem;
}

}  // namespace sheaf
