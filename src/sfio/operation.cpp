#include "sfio/operation.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/assert.hpp"
#include "comm/agree.hpp"
#include "sfio/service/constants.hpp"

namespace sheaf::sfio {

namespace {
// Returns the order in which a task visits its queues: by listener number, starting with a different listener
// for consecutive tasks. An order by file offset would not spread the load, because the extents of all tasks
// may begin with stripe units of the same listener.
std::vector<size_t> visits_of(const std::vector<int>& listeners, int task) {
  std::vector<size_t> visits(listeners.size());
  std::iota(visits.begin(), visits.end(), size_t{0});
  std::ranges::sort(visits, {}, [&](size_t queue) { return listeners[queue]; });
  if (!visits.empty()) {
    const auto first = static_cast<std::ptrdiff_t>(static_cast<size_t>(task) % visits.size());
    std::rotate(visits.begin(), visits.begin() + first, visits.end());
  }
  return visits;
}
}  // namespace

Operation::Operation(Link& link, Direction direction, const layout::Stripes& stripes,
                     std::span<const SubfileHandle> subfiles, std::span<const Block> blocks)
    : link_(link),
      direction_(direction),
      streams_(stripes, subfiles,
               direction == Direction::write ? sorted_writes(blocks) : sorted_reads(blocks, copies_)),
      queues_(streams_.listeners().size()),
      visits_(visits_of(streams_.listeners(), link.number())) {
  advance();
}

Operation::~Operation() {
  for (size_t number = 0; number < queues_.size(); ++number)
    link_.flights(streams_.listeners()[number]) -= static_cast<int>(queues_[number].flights.size());
}

bool Operation::advance() {
  if (done_) return true;
  // Sends one message to every listener before any listener gets a second one.
  bool more = true;  // to send
  bool all = false;
  for (size_t most = 1; more && most <= max_flights; ++most) {
    all = true;
    more = false;
    for (const size_t queue : visits_) {
      all = advance(queue, most) && all;
      more = more || !queues_[queue].empty;
    }
  }
  if (!all) return false;
  done_ = true;
  for (const Copy& copy : copies_) std::memcpy(copy.to, copy.from, static_cast<size_t>(copy.length));
  return true;
}

// Handles the finished calls of one queue and starts new ones, with up to `most` in flight. After an error,
// starts no more calls. Returns true if no call is in flight and none remains to be started.
bool Operation::advance(size_t number, size_t most) {
  Queue& queue = queues_[number];
  const int listener = streams_.listeners()[number];
  take_answers(queue, listener);
  const auto may_send = [&] {
    return queue.flights.empty() ||
           (queue.flights.size() < most && link_.flights(listener) < static_cast<int>(max_flights));
  };
  while (!queue.empty && may_send()) {
    Batch batch = streams_.next(number, link_.listeners()[static_cast<size_t>(listener)].room);
    if (batch.bytes == 0) {
      queue.empty = true;
      break;
    }
    Request request{.kind = direction_ == Direction::write ? RequestKind::write : RequestKind::read,
                    .sections = std::move(batch.sections),
                    .about = std::move(batch.about)};
    note(queue, attempt([&] {
           queue.flights.push_back(link_.start(listener, std::move(request), std::move(batch.runs)));
           ++link_.flights(listener);
         }));
  }
  return queue.empty && queue.flights.empty();
}

void Operation::take_answers(Queue& queue, int listener) {
  for (auto flight = queue.flights.begin(); flight != queue.flights.end();) {
    bool ended = true;
    const auto lost = attempt([&] { ended = (*flight)->done(); });
    if (!ended) {
      ++flight;
      continue;
    }
    ++ended_calls_;
    note(queue, lost ? lost : error_of(link_, listener, (*flight)->answer()));
    if (!lost && direction_ == Direction::read) missing_ += (*flight)->answer().values[0];
    flight = queue.flights.erase(flight);
    --link_.flights(listener);
    SHEAF_ASSERT(link_.flights(listener) >= std::ssize(queue.flights));
  }
}

void Operation::note(Queue& queue, const std::optional<Error>& failed) {
  if (!failed) return;
  if (!failed_) failed_ = failed;
  queue.empty = true;
}

void Operation::finish() {
  double last = link_.now();
  for (int64_t seen = ended_calls_; !advance(); seen = ended_calls_) {
    if (ended_calls_ != seen) last = link_.now();
    link_.back_off(link_.now() - last);
  }
  if (failed_) throw *failed_;
}

}  // namespace sheaf::sfio
