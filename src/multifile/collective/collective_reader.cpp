#include "multifile/collective/collective_reader.hpp"

#include <algorithm>

#include "comm/agree.hpp"
#include "multifile/collective/constants.hpp"

namespace sheaf::multifile {

using namespace collective_constants;

namespace {

struct ReadRoundFacts : GroupTransfer::RoundFacts {
  bool lacks = false;  // a task needs a further round
  constexpr void combine(auto& by) {
    RoundFacts::combine(by);
    by.any(lacks);
  }
};

}  // namespace

// Extents that a task requests from its collector.
struct CollectiveReader::RoundRequest {
  std::vector<Extent> extents;
  std::vector<std::byte> memory;  // receives the bytes; allocated before any task sends
  int64_t ahead = 0;              // bytes of the stream from its position on that the round provides
};

CollectiveReader::CollectiveReader(Comm& file, const CollectiveGroup& group, const CollectivePlan& plan,
                                   ReadStream& stream, AggregatedReadFile& fetched, CollectiveMeans means)
    : means_(std::move(means)),
      file_(file),
      stream_(stream),
      fetched_(fetched),
      capacity_(step_bytes(group.size())),
      automatic_(plan.is_automatic()),
      transfer_(group, means_.mover.get()) {
  transfer_.reserve(capacity_);
}

void CollectiveReader::plan_next(int64_t request) {
  // `around` is memory that the requested bytes cannot use: a round reads whole checksum pieces, so it may
  // begin before the position and end before the memory is full, and it also reads the checksums.
  const int64_t around =
      stream_.blocks().piece() > 0 ? 2 * stream_.blocks().piece() + int64_t{4 * max_extents} : 0;
  const int64_t calls = request > 0 ? std::max<int64_t>(0, capacity_ - around) / request : calls_left_;
  calls_left_ = std::max<int64_t>(0, calls - 1);
  largest_ = 0;
}

void CollectiveReader::read(std::span<std::byte> out, const std::optional<Error>& mine) {
  largest_ = std::max(largest_, std::ssize(out));
  std::optional<StreamPosition> before;
  std::optional<Error> problem = mine;
  if (!problem) problem = attempt([&] { before = stream_.position(); });
  try {
    if (calls_left_ == 0) {
      problem = read_in_rounds(out, problem);
    } else {
      --calls_left_;
      if (!problem) problem = attempt([&] { stream_.read(out); });
    }
    // All tasks must agree on the outcome even if a round has already fetched the bytes. A task that has
    // changed its position, or reads more than before, reads alone and may fail.
    agree(file_, problem);
  } catch (...) {
    if (before) stream_.seek_block(before->block, before->offset);
    throw;
  }
}

// Fills `out` in as many rounds as necessary. Returns the error of this task; errors inside a round are
// thrown on all tasks.
std::optional<Error> CollectiveReader::read_in_rounds(std::span<std::byte> out,
                                                      std::optional<Error> problem) {
  if ((!means_.takes_part || (automatic_ && std::ssize(out) >= direct_read)) && !problem) {
    problem = attempt([&] { stream_.read(out); });
    out = {};
  }
  for (;;) {
    RoundRequest request;
    if (!problem) problem = attempt([&] { request = next_request(); });
    const bool more = round(request, std::ssize(out), problem);
    const auto n = std::min(out.size(), static_cast<size_t>(request.ahead));
    if (!problem) problem = attempt([&] { stream_.read(out.first(n)); });
    out = out.subspan(n);
    if (!more) return problem;
  }
}

// Returns the extents to request in the next round. They cover the stream from its position on, up to the
// capacity of a round: first the bytes of the request, then data likely to be read next. Data with
// checksums are requested in whole pieces, together with the checksums.
CollectiveReader::RoundRequest CollectiveReader::next_request() const {
  RoundRequest request;
  std::vector<Extent> sums;
  const int64_t for_sums =
      stream_.blocks().piece() > 0 && capacity_ > stream_.blocks().piece() ? int64_t{4 * max_extents} : 0;
  int64_t room = means_.takes_part ? capacity_ - for_sums : 0;
  auto [b, offset] = stream_.position();
  for (; b < stream_.sizes().count && room > 0; ++b, offset = 0) {
    const int64_t size = stream_.sizes()[b], checked = stream_.blocks().checked_size(b),
                  piece = stream_.blocks().piece();
    if (offset >= size) continue;
    if (request.extents.size() == max_extents) break;
    const int64_t from = offset < checked ? offset / piece * piece : offset;
    int64_t to = std::min(size, from + room);
    if (offset < checked) {
      if (to < checked) to = std::min(checked, std::max(from + piece, to / piece * piece));
      const int64_t pieces = (std::min(to, checked) - from + piece - 1) / piece;
      sums.push_back({stream_.blocks().sums_at({b, from}), 4 * pieces});
    }
    request.extents.push_back({stream_.geometry().offset(b) + from, to - from});
    request.ahead += to - offset;
    room -= to - from;
    if (to < size) break;
  }
  request.extents.insert(request.extents.end(), sums.begin(), sums.end());
  int64_t bytes = 0;
  for (const Extent& extent : request.extents) bytes += extent.length;
  request.memory.resize(static_cast<size_t>(bytes));
  return request;
}

// Fetches the bytes that this task and the others request. Returns true if some task needs a further round
// for this call.
bool CollectiveReader::round(RoundRequest& request, int64_t left, std::optional<Error> mine) {
  if (!mine && group().is_collector()) mine = attempt([&] { fetched_.real(); });
  ReadRoundFacts facts{
      {mine.has_value(), largest_, {std::ssize(request.memory), std::ssize(request.extents), capacity_}},
      left > request.ahead};
  reduce(file_, facts);
  plan_next(facts.request);
  if (facts.failed) refuse_round(file_, mine, fetched_.path(), "read");
  if (facts.load.bytes > 0) {  // the collectors read for all members
    agree(file_, transfer_.read(group().is_collector() ? fetched_.real() : fetched_,
                                {request.extents, request.memory}, facts.load));
  }
  fetched_.take(request.extents, std::move(request.memory));
  return facts.lacks;
}

}  // namespace sheaf::multifile
