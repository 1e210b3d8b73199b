#include "exchange/in_place.hpp"

#include <algorithm>

#include "comm/agree.hpp"
#include "exchange/independent.hpp"

namespace sheaf::exchange {

namespace {

constexpr int64_t least_pages = 2;           // of a range that is worth it
constexpr int64_t most_pages_ahead = 8;      // pages that are made before their time
constexpr int64_t pages_worth_one_more = 2;  // a file of so many may have a part of one more behind its end
constexpr int64_t part_worth_nothing = 8;    // of a page, such as the header of a file: the page is made with it
constexpr int too_many_unmade = 16;          // pages that the kernel did not make: it will not make others either

}  // namespace

// One write, as the task sees it. Pages are counted from the begin of the file.
struct InPlace::Job {
  FileMemory* memory;  // null: this task cannot have it, and goes by requests
  Extent range;
  int64_t page;
  uint32_t round;
  bool alone = false;

  int64_t first() const { return range.offset / page; }
  int64_t last() const { return (range.end() - 1) / page; }
  // Begins in the range, or a little before it, and ends with it, or a little behind it in comparison with the file: with what others
  // write before, those who write together leave the file about as sparse as it was.
  bool is_to_be_made(int64_t number) const {
    return (alone || number * page >= range.offset - page / part_worth_nothing) && number <= last() &&
           ((number + 1) * page <= range.end() || number >= pages_worth_one_more);
  }
  uint32_t round_of(int64_t number) const { return round + static_cast<uint32_t>((number - first()) / Stage::pages); }
  // What the word of a page is while somebody makes it; one more when that is over. For those who write alone it is the page's own.
  uint32_t making(int64_t number) const { return 2 * (alone ? static_cast<uint32_t>(number + 1) : round_of(number)); }
  int32_t since(int64_t number, uint32_t word) const { return static_cast<int32_t>(word - making(number)); }
};

bool InPlace::works() const { return unmade_ < too_many_unmade; }

bool InPlace::pays(File& file, Extent range, bool large) {
  return large || range.length >= least_pages * file.memory_page();
}

// Null if this task cannot have it.
FileMemory* InPlace::reach(File& file, Extent range) {
  if (file_ != &file || !memory_ || !memory_->covers(range.offset, range.end())) {
    memory_.reset();
    memory_ = file.memory(range.offset, range.end());
    file_ = &file;
  }
  return memory_ && memory_->reach(range.end()) ? memory_.get() : nullptr;
}

std::optional<Error> InPlace::carry_out(File& file, const Job& job, const Access& access, Tally& tally) {
  return attempt([&] {
    bool put_there = false;
    while_shared(file, access.low(), access.high() - access.low(), [&] {
      // Requests say what the matter is, and do what memory cannot. Others write in the gaps: they may not be read and written back.
      if (!std::exchange(put_there, true) && put(job, access, tally)) return;
      exchange::write_alone(file, access, {.sieving = Sieving::never, .locked = true}, tally);
    });
  });
}

std::optional<Error> InPlace::write(File& file, const Access& access, Extent range, SharedWord* failed, Tally& tally) {
  const Job job{reach(file, range), range, file.memory_page(), ++round_};
  round_ = job.round_of(job.last());
  std::optional<Error> problem;
  if (access.bytes() > 0) problem = carry_out(file, job, access, tally);
  if (failed && problem) failed->store(1);
  if (problem) stage_.head().place_failed.store(round_);
  end_part();
  if (failed) await_last();
  return problem;
}

std::optional<Error> InPlace::write_alone(File& file, const Access& access, Tally& tally) {
  const Extent range{access.low(), access.bytes()};
  return carry_out(file, {reach(file, range), range, file.memory_page(), 0, true}, access, tally);
}

bool InPlace::put(const Job& job, const Access& access, Tally& tally) {
  if (!job.memory) return false;
  const Clock clock(tally.file_ns);
  for (int64_t number = access.low() / job.page; number * job.page < access.high(); ++number) {
    const int64_t begin = std::max(number * job.page, job.range.offset);
    const int64_t end = std::min((number + 1) * job.page, job.range.end());
    const int64_t from = access.position_at(begin);
    const int64_t to = access.position_at(end);
    if (from >= to) continue;
    if (job.is_to_be_made(number)) await_page(job, number);
    if (!job.memory->bring(access.offset_of(from), access.offset_of(to - 1) + 1)) return false;
    put_pieces(access, from, to, job.memory->at(begin), begin);
    tally.file_bytes_written += to - from;
  }
  return true;
}

SharedWord& InPlace::word(const Job& job, int64_t number) const {
  Stage::Head& head = stage_.head();
  SharedWord* const words = job.alone ? head.page_alone : head.page;
  return words[number % Stage::pages];
}

// Returns when somebody has made the page, or tried to. A task that is late by whole calls finds the word used for a later one:
// then it goes on as well.
void InPlace::await_page(const Job& job, int64_t number) {
  SharedWord& shared = word(job, number);
  for (;;) {
    uint32_t seen = shared.load(std::memory_order_acquire);
    const int32_t since = job.since(number, seen);
    if (since > 0) return;
    if (since < 0) {
      if (shared.compare_exchange_strong(seen, job.making(number))) return make(job, number);
    } else if (!make_next(job, number) && !stage_.glance([&] { return shared.load(std::memory_order_acquire) != seen; })) {
      stage_.sleep(shared, seen);
    }
  }
}

// Makes one of the next pages that nobody makes yet.
bool InPlace::make_next(const Job& job, int64_t number) {
  for (int64_t next = number + 1; next <= number + most_pages_ahead && job.is_to_be_made(next); ++next) {
    uint32_t seen = word(job, next).load();
    if (job.since(next, seen) >= 0 || !word(job, next).compare_exchange_strong(seen, job.making(next))) continue;
    make(job, next);
    return true;
  }
  return false;
}

void InPlace::make(const Job& job, int64_t number) {
  if (!job.memory->make_large(number * job.page)) ++unmade_;
  word(job, number).store(job.making(number) + 1, std::memory_order_release);
  stage_.wake(word(job, number));
}

void InPlace::end_part() {
  Stage::Head& head = stage_.head();
  placed_ += tasks_;
  if (head.placed.fetch_add(1) + 1 == placed_ && head.placing.load() > 0) stage_.wake(head.placed);
}

bool InPlace::await_last() {
  Stage::Head& head = stage_.head();
  const uint32_t last = placed_;
  const auto is_over = [&] { return static_cast<int32_t>(head.placed.load(std::memory_order_acquire) - last) >= 0; };
  while (!is_over()) {
    head.placing.fetch_add(1);
    if (!stage_.glance(is_over))
      if (const uint32_t placed = head.placed.load(std::memory_order_acquire); !is_over()) stage_.sleep(head.placed, placed);
    head.placing.fetch_sub(1);
  }
  return round_ == 0 || head.place_failed.load() != round_;
}

}  // namespace sheaf::exchange
