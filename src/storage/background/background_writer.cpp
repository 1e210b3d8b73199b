#include "storage/background/background_writer.hpp"

#include <algorithm>
#include <iterator>
#include <system_error>
#include <utility>

#include "base/assert.hpp"
#include "base/report/trace.hpp"
#include "base/service_thread.hpp"
#include "storage/background/capture_copy.hpp"
#include "storage/background/constants.hpp"

namespace sheaf {

namespace {

using background_constants::piece;
using std::chrono::steady_clock;

// Returns true for bytes of a stream in a batch that discards them. Metadata are written, because the program
// may read them back.
bool is_dropped(const BackgroundWriter::CaptureTarget& to, int64_t offset, int64_t bytes) {
  if (!to.batch->discards() || !to.sums || !to.sums->continues(offset)) return false;
  to.sums->skip(bytes);
  return true;
}

}  // namespace

BackgroundWriter::~BackgroundWriter() {
  if (!is_here()) {
    thread_.detach();
    return;
  }
  {
    Lock lock(mutex_);
    ends_ = true;
    while (!thread_.joinable() && carry_out(lock)) continue;
    queue_.timed.clear();
    current_.reset();
  }
  requested_.notify_all();
  if (thread_.joinable()) thread_.join();
  queue_.timed.clear();
  current_.reset();
}

void BackgroundWriter::write(const CaptureTarget& to, std::span<const std::byte> data, int64_t offset) {
  WriteBatch& batch = *to.batch;
  if (data.empty() || is_dropped(to, offset, std::ssize(data))) return;
  batch.require_sound();
  const auto write_to_file = [&] {
    to.file->write_at(data, offset);
    if (to.sums && to.sums->continues(offset)) to.sums->append(data);
  };
  if (batch.writes_through()) return write_to_file();
  batch.captured_ += std::ssize(data);
  const auto write_at_once = [&] {
    write_to_file();
    batch.written_ += std::ssize(data);
  };
  if (!is_here()) return write_at_once();
  try {
    capture(to, data, offset);
  } catch (const std::bad_alloc&) {
    drain(batch);
    write_at_once();
  }
  if (is_synchronous()) drain(batch);
}

// Copies the bytes in parts, so that the first ones are written while the last ones are copied.
void BackgroundWriter::capture(const CaptureTarget& to, std::span<const std::byte> data, int64_t offset) {
  CapturedSums* const sums = to.sums && to.sums->continues(offset) ? to.sums : nullptr;
  while (!data.empty()) {
    CapturedWrite* made = nullptr;
    std::span<std::byte> bytes;
    {
      Lock lock(mutex_);
      bytes = reserve(lock, to.batch, data.size());
      queue_.requests.push_back({to.batch, to.file, current_, bytes, offset});
      made = &queue_.requests.back();  // references to elements of a deque stay valid
      current_->filled += bytes.size();
      ++to.batch->pending_;
    }
    capture_bytes(bytes, data.first(bytes.size()), sums);
    {
      const Lock lock(mutex_);
      made->is_ready = true;
    }
    requested_.notify_one();
    data = data.subspan(bytes.size());
    offset += std::ssize(bytes);
  }
}

// Returns memory for the first of `wanted` bytes, in the current piece. Releases the lock while it waits.
std::span<std::byte> BackgroundWriter::reserve(Lock& lock, const std::shared_ptr<WriteBatch>& batch,
                                               size_t wanted) {
  begin_thread();
  Backoff backoff(background_constants::memory_backoff);
  for (;;) {
    if (current_ && current_.use_count() == 1) current_->filled = 0;  // no request needs its bytes
    const size_t least = std::min(wanted, background_constants::smallest_split);
    if (current_ && (current_->budget != batch->budget() || current_->rest().size() < least))
      current_.reset();
    if (!current_) current_ = memory_.acquire(batch->budget());
    if (current_) return current_->rest().first(std::min(wanted, current_->rest().size()));
    wait_for_memory(lock, backoff.next());
    batch->require_sound();
  }
}

void BackgroundWriter::change_holds(int by) {
  if (!is_here()) return;
  {
    const Lock lock(mutex_);
    queue_.holds += by;
    SHEAF_ASSERT(queue_.holds >= 0);
  }
  requested_.notify_one();
}

// Waits for the thread by `wait`, which must not throw, with the lock held.
template <class Wait>
void BackgroundWriter::await_thread(Wait&& wait) {
  ++queue_.waiting;
  requested_.notify_one();
  wait();
  --queue_.waiting;
}

void BackgroundWriter::wait_for_memory(Lock& lock, std::chrono::nanoseconds pause) {
  const TraceEvent traced("wait for captured memory");
  if (served_by_ == ServedBy::thread && !has_no_thread_) {
    await_thread([&] { changed_.wait_for(lock, pause); });
  } else if (!carry_out(lock)) {
    lock.unlock();
    std::this_thread::sleep_for(pause);
    lock.lock();
  }
}

void BackgroundWriter::wait_for_change(Lock& lock) {
  if (served_by_ == ServedBy::thread && !has_no_thread_) return await_thread([&] { changed_.wait(lock); });
  // If no request is ready, another thread copies or writes the pending one.
  if (!carry_out(lock)) changed_.wait_for(lock, background_constants::memory_backoff.first);
}

void BackgroundWriter::drain(WriteBatch& batch) {
  if (is_here()) {
    const TraceEvent traced("wait for background writes");
    Lock lock(mutex_);
    while (batch.pending_ > 0) wait_for_change(lock);
  }
  if (!batch.discards()) batch.require_sound();
}

bool BackgroundWriter::is_pending(const std::string& path, int64_t offset, int64_t bytes) const {
  const auto overlaps = [&](const CapturedWrite& write) {
    return write.file && write.offset < offset + bytes && offset < write.offset + std::ssize(write.bytes) &&
           write.file->path() == path;
  };
  return std::ranges::any_of(queue_.running, overlaps) || std::ranges::any_of(queue_.requests, overlaps);
}

void BackgroundWriter::await_range(const WriteBatch& batch, const std::string& path, int64_t offset,
                                   int64_t bytes) {
  if (is_here()) {
    Lock lock(mutex_);
    while (is_pending(path, offset, bytes)) wait_for_change(lock);
  }
  batch.require_sound();
}

void BackgroundWriter::then(const std::shared_ptr<WriteBatch>& batch, Step step) {
  SHEAF_ASSERT(is_here());
  {
    Lock lock(mutex_);
    begin_thread();
    queue_.requests.push_back({.batch = batch, .is_ready = true, .step = std::move(step)});
  }
  requested_.notify_one();
}

bool BackgroundWriter::run_one() {
  SHEAF_ASSERT(served_by_ == ServedBy::callers || is_synchronous());
  Lock lock(mutex_);
  if (carry_out(lock)) return true;
  return run_due(lock, steady_clock::time_point::max());
}

void BackgroundWriter::help(std::chrono::nanoseconds pause) {
  Lock lock(mutex_);
  if (served_by_ == ServedBy::thread && !has_no_thread_) {
    changed_.wait_for(lock, pause);
  } else if (!carry_out(lock) && !run_due(lock, steady_clock::time_point::max())) {
    lock.unlock();
    std::this_thread::sleep_for(pause);
  }
}

bool BackgroundWriter::is_synchronous() {
  const Lock lock(mutex_);
  return has_no_thread_;
}

void BackgroundWriter::begin_thread() {
  if (served_by_ != ServedBy::thread || thread_.joinable() || has_no_thread_) return;
  try {
    thread_ = service_thread([this] { serve(); });
  } catch (const std::system_error&) {
    has_no_thread_ = true;
  }
}

// The body of the thread.
void BackgroundWriter::serve() {
  Lock lock(mutex_);
  for (;;) {
    bool busy = false;
    const auto no_memory = attempt([&] {
      busy = (ends_ || may_begin()) && carry_out(lock);
      busy |= run_due(lock, steady_clock::now());
    });
    if (no_memory) requested_.wait_for(lock, background_constants::memory_backoff.max);
    if (busy || no_memory) continue;
    if (ends_ && queue_.requests.empty()) return;
    const auto wakes = [&] { return ends_ || may_begin(); };
    if (queue_.timed.empty()) {
      requested_.wait(lock, wakes);
    } else {
      requested_.wait_until(lock, std::ranges::min_element(queue_.timed, {}, &TimedStep::due)->due, wakes);
    }
  }
}

// Carries out the first requests, without the lock. Returns false if none is ready. Throws std::bad_alloc,
// and then leaves the requests in the queue.
bool BackgroundWriter::carry_out(Lock& lock) {
  if (!has_ready()) return false;
  if (queue_.requests.front().step) {
    queue_.timed.reserve(queue_.timed.size() + 1);  // the step may want to run again
    CapturedWrite request = std::move(queue_.requests.front());
    queue_.requests.pop_front();
    run_step(lock, std::move(request));
    return true;
  }
  std::vector<CapturedWrite> run = take_run();
  queue_.running = run;
  lock.unlock();
  write_run(run);
  lock.lock();
  queue_.running = {};
  int64_t& pending = run.front().batch->pending_;
  SHEAF_ASSERT(pending >= std::ssize(run));
  pending -= std::ssize(run);
  run.clear();
  changed_.notify_all();
  return true;
}

// Removes the requests that one request to the file can carry out. Throws std::bad_alloc, and then removes
// none.
std::vector<BackgroundWriter::CapturedWrite> BackgroundWriter::take_run() {
  std::deque<CapturedWrite>& all = queue_.requests;
  const CapturedWrite& first = all.front();
  int64_t end = first.offset;
  size_t bytes = 0;
  const auto last = std::ranges::find_if_not(all, [&](const CapturedWrite& next) {
    bytes += next.bytes.size();
    const bool follows = next.is_ready && !next.step && next.offset == end && next.file == first.file;
    end += std::ssize(next.bytes);
    // Tasks that are threads may have one file, and a batch each.
    return follows && next.batch == first.batch && (&next == &first || bytes <= piece);
  });
  std::vector<CapturedWrite> run(std::make_move_iterator(all.begin()), std::make_move_iterator(last));
  all.erase(all.begin(), last);
  return run;
}

void BackgroundWriter::write_run(std::vector<CapturedWrite>& run) {
  WriteBatch& batch = *run.front().batch;
  if (!batch.is_sound()) return;
  std::vector<Piece<const std::byte>> pieces;
  int64_t bytes = 0;
  const auto problem = attempt([&] {
    for (const CapturedWrite& request : run) {
      pieces.push_back({request.offset, request.bytes});
      bytes += std::ssize(request.bytes);
    }
    const TraceEvent traced("background write", run.front().offset, bytes);
    run.front().file->write_pieces(pieces);
  });
  if (problem) return batch.fail(*problem);
  batch.written_ += bytes;
}

// Runs a step without the lock, and keeps it if it wants to run again.
void BackgroundWriter::run_step(Lock& lock, CapturedWrite request) {
  lock.unlock();
  const auto again = request.step();
  if (!again) request = {};
  lock.lock();
  if (again) queue_.timed.push_back({steady_clock::now() + *again, std::move(request)});
  changed_.notify_all();
}

bool BackgroundWriter::run_due(Lock& lock, steady_clock::time_point now) {
  const auto waits = [&](const TimedStep& timed) { return timed.due > now; };
  const auto first = std::ranges::stable_partition(queue_.timed, waits).begin();
  std::vector<TimedStep> due(std::make_move_iterator(first), std::make_move_iterator(queue_.timed.end()));
  queue_.timed.erase(first, queue_.timed.end());
  for (TimedStep& timed : due) run_step(lock, std::move(timed.request));
  return !due.empty();
}

}  // namespace sheaf
