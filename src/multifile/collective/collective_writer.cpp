#include "multifile/collective/collective_writer.hpp"

#include <algorithm>

#include "comm/agree.hpp"
#include "comm/collective_call.hpp"
#include "comm/packing.hpp"
#include "multifile/collective/constants.hpp"

namespace sheaf::multifile {

using namespace collective_constants;

namespace {

struct WriteRoundFacts : GroupTransfer::RoundFacts {
  int64_t records = 0;      // records of completed chunks, of one task
  bool reads_back = false;  // a task reads bytes back for checksums
  constexpr void combine(auto& by) {
    RoundFacts::combine(by);
    by.max(records).any(reads_back);
  }
};

}  // namespace

CollectiveWriter::CollectiveWriter(Comm& file, NewGroups groups, const CollectivePlan& plan,
                                   WriteStream& stream, std::shared_ptr<AggregatedWriteFile> collected,
                                   const CollectiveMeans& means)
    : file_(file),
      stream_(stream),
      collected_(std::move(collected)),
      capacity_(std::max<int64_t>(min_per_task, step_bytes(groups.group.size()))),
      plan_(plan),
      takes_part_(means.takes_part),
      spans_hosts_(groups.spans_hosts),
      transfer_(groups.group, plan.merge ? nullptr : means.mover.get()) {
  transfer_.reserve(capacity_);
  if (!plan_.merge) {
    // If the program transfers the bytes, it does so only in its collective calls. A capacity of 1 byte
    // ensures that no bytes are held between these calls.
    collected_->hold(transfer_.is_by_program() ? 1 : capacity_,
                     plan_.is_automatic() ? WriteStream::direct_bytes : INT64_MAX);
    if (spans_hosts_ && !is_collector()) collected_->leave_to_collector();
    if (journal())
      journal()->defer([file = collected_]() -> File* { return file->has_all() ? &file->real() : nullptr; });
  }
  plan_next(groups.average_request);
}

// Computes the number of calls until the next round from the largest request to expect. A request of 0 keeps
// the previous number.
void CollectiveWriter::plan_next(int64_t request) {
  constexpr int64_t around = 2 * sizeof(Extent);
  if (transfer_.is_by_program() || spans_hosts_ || 2 * request > capacity_ ||
      (plan_.is_automatic() && request >= WriteStream::direct_bytes))
    calls_between_ = 0;
  else if (request > 0)
    calls_between_ = std::max<int64_t>(1, capacity_ / (request + around));
  calls_left_ = calls_between_;
  largest_ = 0;
}

void CollectiveWriter::write(std::span<const std::byte> data, const std::optional<Error>& mine) {
  largest_ = std::max(largest_, std::ssize(data));
  if (plan_.merge) return write_merged(data, mine);
  if (calls_between_ == 0) return write_now(data, mine);
  if (calls_left_ == 0) round(RoundKind::write_behind, std::nullopt);
  --calls_left_;
  if (mine) tell_all(*mine);
  write_between(data);
}

// Writes outside of a round. If the task cannot write its bytes now, it keeps them for the next round, in
// which all tasks get the error.
void CollectiveWriter::write_between(std::span<const std::byte> data) {
  if (!attempt([&] { stream_.write(data); })) return;
  const auto failed = attempt([&] {
    collected_->begin_unbounded(true);
    stream_.write(data);
  });
  collected_->bound_again();
  if (failed) tell_all(*failed);
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
    round(RoundKind::immediate, problem);
  } catch (...) {
    collected_->held().drop_last(added);
    if (before) stream_.return_to(*before);
    throw;
  }
}

// Appends the data of all members to the stream of the collector. The streams of the other members stay
// unchanged.
void CollectiveWriter::write_merged(std::span<const std::byte> data, const std::optional<Error>& mine) {
  GroupTransfer::RoundFacts facts{mine.has_value(), largest_, {.each = capacity_ * group().size()}};
  reduce(file_, facts);
  plan_next(facts.request);
  if (facts.failed) refuse_round(file_, mine, collected_->path(), "write");
  std::optional<WriteStream::Mark> before;
  if (is_collector()) before = stream_.mark();
  try {
    agree(file_,
          transfer_.merge(data, facts.load.each, [this](std::span<const std::byte> bytes, int64_t piece) {
            // Data of a member that fit into one chunk are not split.
            if (piece > 0 && piece <= stream_.geometry().size) stream_.ensure_free_space(piece);
            stream_.write_filling({}, bytes);
          }));
  } catch (...) {
    if (before) stream_.return_to(*before);
    throw;
  }
}

// Writes the held bytes from this task itself if they are large requests, because sending those to a
// collector gains nothing. Also writes them if the task takes no part in transfers.
std::optional<Error> CollectiveWriter::write_large_ones() {
  const PendingExtents& held = collected_->held();
  const bool large = plan_.is_automatic() && !spans_hosts_ && !held.empty() &&
                     held.bytes() >= std::ssize(held.extents()) * WriteStream::direct_bytes;
  if (!large && (takes_part_ || spans_hosts_)) return std::nullopt;
  return attempt([&] { collected_->write_held(); });
}

// Returns the error that prevents this task from taking part in the round, if any.
std::optional<Error> CollectiveWriter::prepare_round() {
  std::optional<Error> problem;
  if (is_collector() && journal())
    problem = attempt([&] { journal()->require_unfinished_file(collected_->real()); });
  if (!problem) problem = write_large_ones();
  return problem ? problem : std::exchange(behind_, std::nullopt);
}

void CollectiveWriter::round(RoundKind kind, std::optional<Error> mine) {
  if (!mine) mine = prepare_round();
  PendingExtents& held = collected_->held();
  WriteRoundFacts facts{{mine.has_value(), largest_, {held.bytes(), std::ssize(held.extents()), capacity_}},
                        journal() ? journal()->to_send() : 0,
                        kind == RoundKind::last && stream_.blocks().reads_back()};
  reduce(file_, facts);
  plan_next(facts.request);
  if (facts.failed) {
    collected_->take_back();
    if (journal()) journal()->return_in_flight();
    refuse_round(file_, mine, collected_->path(), "write");
  }
  if (journal()) journal()->arrived();
  if (kind == RoundKind::write_behind) {
    collected_->ship();
    behind_ = write_collected(collected_->shipped(), facts.load);
    record_chunks(facts.records);
    return;
  }
  collected_->shipped().clear();
  const auto outcome = write_collected(held, facts.load);
  if (kind == RoundKind::last) {
    behind_ = outcome;
    if (facts.reads_back) file_.barrier();  // tasks may now read their bytes back for checksums
    return;
  }
  if (facts.load.bytes > 0) agree(file_, outcome);
  held.clear();
  record_chunks(facts.records);
  if (facts.records > 0) file_.barrier();  // all chunks are recorded when a task returns
}

// Lets the collectors record the chunks that this round has completed, at most `most` per task. Collective. A
// task sends no records if its bytes may not be in the file.
void CollectiveWriter::record_chunks(int64_t most) {
  most = std::min(most, std::clamp<int64_t>(max_chunks / group().size(), 1, 4096));
  if (most == 0) return;
  std::vector<ChunkReport> mine;
  if (journal() && !behind_) mine = journal()->send(most);
  const Gathered reports =
      group().gather(std::as_bytes(std::span(mine)), static_cast<size_t>(most) * sizeof(ChunkReport));
  if (!is_collector() || behind_) return;
  behind_ = attempt([&] { journal()->record(collected_->real(), records_of<ChunkReport>(reports)); });
}

// Sends held bytes to the collectors, which write them to the file. Collective. Returns the error of this
// task, if any.
std::optional<Error> CollectiveWriter::write_collected(const PendingExtents& held,
                                                       const GroupTransfer::Load& largest) {
  if (largest.bytes == 0) return std::nullopt;
  File& file = is_collector() ? collected_->real() : *collected_;
  auto problem = transfer_.write(file, held.placed(), largest);
  // Tasks of other hosts cannot sync or publish the bytes that the collector wrote for them, so the collector
  // does.
  if (!problem && spans_hosts_ && is_collector()) {
    if (stream_.target().durable())
      problem = attempt([&] { file.sync(); });
    else if (stream_.target().journal_key().own_caches)
      problem = attempt([&] { file.publish(); });
  }
  return problem;
}

std::optional<Error> CollectiveWriter::finish() {
  // A second attempt follows a failure, because the failure may have been temporary.
  const auto try_last = [&] {
    collective_call(file_.job_end(), "close", [&] { round(RoundKind::last, std::nullopt); });
  };
  auto problem = attempt(try_last);
  if (problem) problem = attempt(try_last);
  if (!problem) problem = behind_;
  collected_->hold(0, 0);
  return problem;
}

}  // namespace sheaf::multifile
