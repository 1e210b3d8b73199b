#include "exchange/staged.hpp"

#include <algorithm>

#include "comm/agree.hpp"
#include "exchange/coverage.hpp"
#include "exchange/write_covered.hpp"

namespace sheaf::exchange {

namespace {

constexpr uint32_t most_windows_ahead = 3;  // windows that a task reads before their time
constexpr size_t most_at_once = 4;  // windows in one request to a file where requests are dear
constexpr int least_written = 4;    // windows that a task writes before it leaves the rest to others
constexpr uint32_t most_left = 4;   // windows that it leaves to them

}  // namespace

// One leg, as the task sees it.
struct Staged::Job {
  File& file;
  const Access& access;
  const Leg& leg;
  SharedWord& failed;
  Tally& tally;
  uint32_t base;  // number of the first window
  Sieving sieving = Sieving::automatic;
  ScatteredFile* const scattered = dynamic_cast<ScatteredFile*>(&file);
  std::optional<Error> problem = std::nullopt;

  uint32_t end() const { return base + static_cast<uint32_t>(leg.order.size()); }
  int64_t window(uint32_t number) const { return leg.order[number - base]; }
  int64_t begin(uint32_t number) const { return leg.windows.begin(window(number)); }
  int64_t length(uint32_t number) const { return leg.windows.end(window(number)) - begin(number); }
  int64_t bytes(uint32_t number) const { return leg.bytes.empty() ? length(number) : leg.bytes[number - base]; }
  bool full(uint32_t number) const { return leg.bytes.empty() || leg.full[number - base]; }

  template <class Part>
  void attempt_part(Part part) {
    const auto error = attempt(part);
    if (!error) return;
    if (!problem) problem = error;
    failed.store(1);
  }

  // visit(number, from, to) for the windows that the task has bytes in, in the common order.
  template <class Visit>
  void for_each_own(Visit visit) {
    if (access.bytes() <= 0) return;
    const int64_t first = leg.windows.at(std::max(access.low(), leg.windows.low));
    const int64_t last = leg.windows.at(std::min(access.high(), leg.windows.high) - 1);
    for (uint32_t number = base; number != end(); ++number) {
      const int64_t k = window(number);
      if (k < first || k > last) continue;
      const int64_t from = access.position_at(leg.windows.begin(k));
      const int64_t to = access.position_at(leg.windows.end(k));
      if (from < to) visit(number, from, to);
    }
  }
};

Leg Staged::find_gaps(const Access& access, const Windows& windows, int64_t domains) {
  const auto table = stage_->table(legs_);
  const auto count = static_cast<size_t>(windows.count());
  if (access.bytes() > 0 && access.high() > windows.low && access.low() < windows.high) {
    const int64_t first = windows.at(std::max(access.low(), windows.low));
    const int64_t last = windows.at(std::min(access.high(), windows.high) - 1);
    int64_t from = access.position_at(windows.begin(first));
    for (int64_t k = first; k <= last; ++k) {
      const int64_t to = access.position_at(windows.end(k));
      Stage::Entry& entry = table[static_cast<size_t>(k)];
      if (to > from) {
        entry.bytes.fetch_add(to - from, std::memory_order_relaxed);
        entry.coverage.fetch_add(coverage(access, from, to), std::memory_order_relaxed);
      }
      from = to;
    }
  }
  comm_.barrier();
  Leg leg;
  leg.windows = windows;
  std::vector<uint32_t> used;
  for (size_t k = 0; k < count; ++k)
    if (table[k].bytes.load(std::memory_order_relaxed) > 0) used.push_back(static_cast<uint32_t>(k));
  for (const uint32_t i : in_rounds_of(std::ssize(used), domains)) {
    const uint32_t k = used[i];
    leg.order.push_back(k);
    leg.bytes.push_back(table[k].bytes.load(std::memory_order_relaxed));
    leg.full.push_back(table[k].coverage.load(std::memory_order_relaxed) == coverage_of_range(windows.begin(k), windows.end(k)));
  }
  // All are past the leg before, whose table nobody needs any more.
  if (comm_.rank() == 0)
    for (Stage::Entry& entry : stage_->table(legs_ + 1)) {
      entry.bytes.store(0, std::memory_order_relaxed);
      entry.coverage.store(0, std::memory_order_relaxed);
    }
  ++legs_;
  leg.aggregators = domains;
  return leg;
}

std::optional<Error> Staged::write(File& file, const Access& access, const Leg& leg, Sieving sieving, SharedWord& failed,
                                   Tally& tally) {
  const auto loan = stage_->lend_to(file);
  Job job{file, access, leg, failed, tally, next_, sieving};
  job.for_each_own([&](uint32_t number, int64_t from, int64_t to) {
    Stage::Slot& slot = stage_->slot(number);
    const auto is_free = [&] { return slot.use.load(std::memory_order_acquire) == number; };
    while (!is_free()) {
      write_ready(job, number);
      stage_->head().idle.store(number + 1);
      stage_->await(slot, is_free);
    }
    {
      const Clock clock(tally.exchange_ns);
      put_pieces(access, from, to, stage_->memory(number), job.begin(number));
      if (!job.full(number)) CoverageMap(stage_->map(number)).set(access, from, to, job.begin(number));
    }
    tally.exchanged_bytes += to - from;
    if (slot.bytes.fetch_add(to - from, std::memory_order_acq_rel) + (to - from) < job.bytes(number)) return;
    stage_->head().waiting.fetch_add(1);
    slot.ready.store(number + 1, std::memory_order_release);
    if (!hand_over(job)) write_ready(job, number + 1);
  });
  write_ready(job);
  wait_for_all(job);
  return job.problem;
}

// Windows are ready, and fewer tasks write than may.
bool Staged::lacks_writer(const Job& job) const {
  const Stage::Head& head = stage_->head();
  return head.waiting.load() > 0 && head.writers.load() < static_cast<uint32_t>(job.leg.aggregators);
}

// A task that waits anyway writes rather than this one, which others may be waiting for: their windows need its pieces. Only a
// hint: this task looks again before it waits itself.
bool Staged::hand_over(Job& job) {
  Stage::Head& head = stage_->head();
  if (head.writers.load() >= static_cast<uint32_t>(job.leg.aggregators)) return true;
  if (head.sleepers.load() > 0) {
    stage_->wake(head.finished, 1);
    return true;
  }
  const uint32_t idle = head.idle.exchange(0);
  if (idle == 0 || stage_->slot(idle - 1).sleepers.load() == 0) return false;
  stage_->slot(idle - 1).event.fetch_add(1);
  stage_->wake(stage_->slot(idle - 1).event, 1);
  return true;
}

// While a task writes, nobody brings its pieces to the windows to come. Had it written all that are ready, nobody could write until it
// has brought them: so it leaves the last ones to others, once there is room for its pieces.
bool Staged::leaves(const Job& job, std::optional<uint32_t> next, int written) const {
  const uint32_t waiting = stage_->head().waiting.load();
  return next && !job.scattered && written >= least_written && waiting > 0 && waiting <= most_left && stage_->slot(*next).use.load() == *next;
}

// Whoever makes a window ready looks for a free place among the writers afterwards; whoever gives up a place looks for ready
// windows afterwards, or before it waits if it leaves them to others: one of them sees the other.
void Staged::write_ready(Job& job, std::optional<uint32_t> next) {
  Stage::Head& head = stage_->head();
  int written = 0;
  while (head.waiting.load() > 0) {
    if (head.writers.fetch_add(1) >= static_cast<uint32_t>(job.leg.aggregators)) {
      head.writers.fetch_sub(1);
      // The one who had the last place may have looked before: then it is free now.
      if (head.writers.load() >= static_cast<uint32_t>(job.leg.aggregators)) return;
      continue;
    }
    const uint32_t first = head.finished.load();
    std::vector<uint32_t> claimed;
    const auto write_claimed = [&] {
      write_windows(job, claimed);
      for (const uint32_t number : claimed) release(job, number);
      claimed.clear();
    };
    for (uint32_t i = 0; i < static_cast<uint32_t>(stage_->slots()) && head.waiting.load() > 0; ++i) {
      Stage::Slot& slot = stage_->slot(first + i);
      const uint32_t number = slot.use.load();
      uint32_t unclaimed = slot.claimed.load();
      if (slot.ready.load() != number + 1 || unclaimed == number + 1) continue;
      if (number - job.base >= job.leg.order.size()) continue;
      if (!slot.claimed.compare_exchange_strong(unclaimed, number + 1)) continue;
      head.waiting.fetch_sub(1);
      claimed.push_back(number);
      if (claimed.size() == (job.scattered ? most_at_once : 1)) write_claimed();
      if (leaves(job, next, ++written)) {
        head.writers.fetch_sub(1);
        hand_over(job);
        return;
      }
    }
    write_claimed();
    head.writers.fetch_sub(1);
  }
}

void Staged::write_window(Job& job, uint32_t number) {
  const int64_t begin = job.begin(number);
  const int64_t length = job.length(number);
  if (job.full(number))
    return job.attempt_part([&] { put_shared(job.file, {stage_->memory(number), static_cast<size_t>(length)}, begin, job.tally); });
  const CoverageMap map(stage_->map(number));
  job.attempt_part([&] {
    write_covered(job.file, {stage_->memory(number), static_cast<size_t>(length)}, map, begin, job.sieving, job.tally);
  });
  map.clear();
}

void Staged::write_windows(Job& job, std::span<const uint32_t> numbers) {
  if (!job.scattered) {
    for (const uint32_t number : numbers) write_window(job, number);
    return;
  }
  std::vector<ScatteredFile::Piece> pieces;
  for (const uint32_t number : numbers) {
    const std::span window(stage_->memory(number), static_cast<size_t>(job.length(number)));
    if (job.full(number)) {
      pieces.push_back({job.begin(number), window.data(), std::ssize(window)});
    } else {
      add_covered(pieces, window, CoverageMap(stage_->map(number)), job.begin(number));
    }
  }
  job.attempt_part([&] { put_scattered(*job.scattered, pieces, job.tally); });
  for (const uint32_t number : numbers)
    if (!job.full(number)) CoverageMap(stage_->map(number)).clear();
}

// The window is done; the next one may use its slot.
void Staged::release(Job& job, uint32_t number) {
  Stage::Head& head = stage_->head();
  Stage::Slot& slot = stage_->slot(number);
  slot.bytes.store(0, std::memory_order_relaxed);
  slot.use.store(number + static_cast<uint32_t>(stage_->slots()));
  stage_->announce(slot);
  if (head.finished.fetch_add(1) + 1 == job.end() && head.sleepers.load() > 0) stage_->wake(head.finished);
}

void Staged::wait_for_all(Job& job) {
  Stage::Head& head = stage_->head();
  next_ = job.end();
  const auto is_over = [&] { return static_cast<int32_t>(head.finished.load(std::memory_order_acquire) - job.end()) >= 0; };
  while (!is_over()) {
    head.sleepers.fetch_add(1);
    if (!stage_->glance([&] { return is_over() || lacks_writer(job); })) {
      const uint32_t finished = head.finished.load(std::memory_order_acquire);
      if (!is_over() && !lacks_writer(job)) stage_->sleep(head.finished, finished);
    }
    head.sleepers.fetch_sub(1);
    if (head.waiting.load() > 0) write_ready(job);
  }
}

std::optional<Error> Staged::read(File& file, const Access& access, const Leg& leg, bool ahead, SharedWord& failed, int64_t& done,
                                  Tally& tally) {
  const auto loan = stage_->lend_to(file);
  Job job{file, access, leg, failed, tally, next_};
  done = access.to;
  job.for_each_own([&](uint32_t number, int64_t from, int64_t to) {
    Stage::Slot& slot = stage_->slot(number);
    const auto is_there = [&] { return slot.ready.load(std::memory_order_acquire) == number + 1; };
    while (!is_there() && !try_read(job, number)) {
      bool busy = false;
      for (uint32_t i = 1; ahead && !busy && i <= most_windows_ahead && number + i != job.end(); ++i) busy = try_read(job, number + i);
      if (!busy)
        stage_->await(slot, [&] { return is_there() || (slot.use.load() == number && slot.claimed.load() != number + 1); });
    }
    const int64_t got = slot.got.load(std::memory_order_relaxed);
    int64_t end = to;
    if (got < job.length(number)) done = std::min(done, end = std::min(to, access.position_at(job.begin(number) + got)));
    {
      const Clock clock(tally.exchange_ns);
      if (from < end) take_pieces(access, from, end, stage_->memory(number), job.begin(number));
    }
    tally.exchanged_bytes += to - from;
    if (slot.bytes.fetch_add(to - from, std::memory_order_acq_rel) + (to - from) == job.bytes(number)) release(job, number);
  });
  wait_for_all(job);
  return job.problem;
}

// Reads the window if its slot is free and nobody else does.
bool Staged::try_read(Job& job, uint32_t number) {
  Stage::Slot& slot = stage_->slot(number);
  if (slot.use.load(std::memory_order_acquire) != number) return false;
  uint32_t before = slot.claimed.load();
  if (before == number + 1 || !slot.claimed.compare_exchange_strong(before, number + 1)) return false;
  size_t got = 0;
  job.attempt_part([&] {
    got = get(job.file, {stage_->memory(number), static_cast<size_t>(job.length(number))}, job.begin(number), job.tally);
  });
  slot.got.store(static_cast<int64_t>(got), std::memory_order_relaxed);
  slot.ready.store(number + 1, std::memory_order_release);
  stage_->announce(slot);
  return true;
}

}  // namespace sheaf::exchange
