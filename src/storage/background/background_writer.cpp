#include "storage/background/background_writer.hpp"

#include <algorithm>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/assert.hpp"
#include "base/report/trace.hpp"
#include "base/service_thread.hpp"
#include "storage/background/constants.hpp"

namespace sheaf {

namespace {
using background_constants::piece;
using std::chrono::steady_clock;
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
  batch.captured_ += std::ssize(data);
  const auto write_at_once = [&] {
    if (to.sums) to.sums->is_broken = true;
    to.file->write_at(data, offset);
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

// Returns true for bytes of a stream in a batch that discards them. Metadata are written, because the program
// may read them back.
bool BackgroundWriter::is_dropped(const CaptureTarget& to, int64_t offset, int64_t bytes) {
  if (!to.batch->discards() || !to.sums) return false;
  const Lock lock(mutex_);
  if (!to.sums->continues(offset)) return false;
  to.sums->captured += bytes;
  return true;
}

// Copies the bytes in parts, so that the first ones are written while the last ones are copied.
void BackgroundWriter::capture(const CaptureTarget& to, std::span<const std::byte> data, int64_t offset) {
  while (!data.empty()) {
    CapturedWrite* made = nullptr;
    std::span<std::byte> bytes;
    {
      Lock lock(mutex_);
      bytes = reserve(lock, to.batch, data.size());
      const bool sums = to.sums && to.sums->continues(offset);
      queue_.requests.push_back({to.batch, to.file, current_, bytes, offset, sums ? to.sums : nullptr});
      if (sums) to.sums->captured += std::ssize(bytes);
      made = &queue_.requests.back();  // references to elements of a deque stay valid
      current_->filled += bytes.size();
      ++to.batch->pending_;
    }
    std::memcpy(bytes.data(), data.data(), bytes.size());
    {
      const Lock lock(mutex_);
      made->is_ready = true;
    }
    requested_.notify_one();
    data = data.subspan(bytes.size());
    offset += std::ssize(bytes);
  }
}

bool BackgroundWriter::has_unsummed() const {
  return !queue_.is_summing && queue_.summed < queue_.requests.size() &&
         queue_.requests[queue_.summed].is_ready;
}

// Computes the checksums of the next request. Releases the lock meanwhile. Returns false if none is ready, or
// if another thread is at it.
bool BackgroundWriter::sum_next(Lock& lock) {
  if (!has_unsummed()) return false;
  const CapturedWrite& request = queue_.requests[queue_.summed];
  if (request.sums) {
    BackgroundSums& sums = *request.sums;
    BackgroundSums::Following more{sums.summed, sums.running};
    const auto bytes = request.bytes;
    queue_.is_summing = true;
    lock.unlock();
    const auto failed =
        attempt([&] { more = BackgroundSums::follow(std::move(more), sums.origin, sums.piece, bytes); });
    lock.lock();
    queue_.is_summing = false;
    if (failed || attempt([&] { sums.append(more); })) sums.is_broken = true;
  }
  ++queue_.summed;
  changed_.notify_all();
  requested_.notify_one();  // the thread may have found nothing to do while another one summed
  return true;
}

bool BackgroundWriter::take_sums(BackgroundSums& sums, int64_t bytes, std::span<uint32_t> result) {
  if (!is_here()) return false;
  const TraceEvent traced("wait for background checksums");
  Lock lock(mutex_);
  if (sums.captured - sums.origin != bytes) return false;
  while (!sums.is_broken && sums.summed < sums.captured)
    if (!sum_next(lock)) changed_.wait(lock);
  if (sums.is_broken) return false;
  sums.copy(result);
  return true;
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

void BackgroundWriter::wait_for_memory(Lock& lock, std::chrono::nanoseconds pause) {
  const TraceEvent traced("wait for captured memory");
  if (served_by_ == ServedBy::thread && !has_no_thread_) {
    changed_.wait_for(lock, pause);
  } else if (!carry_out(lock)) {
    lock.unlock();
    std::this_thread::sleep_for(pause);
    lock.lock();
  }
}

void BackgroundWriter::wait_for_change(Lock& lock) {
  if (served_by_ == ServedBy::thread && !has_no_thread_) return changed_.wait(lock);
  // If no request is ready, another thread copies, sums or writes the pending one.
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
    const bool busy = carry_out(lock);
    const bool was_due = run_due(lock, steady_clock::now());
    if (busy || was_due) continue;
    if (ends_ && queue_.requests.empty()) return;
    const auto wakes = [&] {
      return ends_ || has_unsummed() || (queue_.summed > 0 && queue_.requests.front().is_ready);
    };
    if (queue_.timed.empty()) {
      requested_.wait(lock, wakes);
    } else {
      requested_.wait_until(lock, std::ranges::min_element(queue_.timed, {}, &TimedStep::due)->due, wakes);
    }
  }
}

// Sums the next request, or carries out the first ones. Releases the lock meanwhile. Returns false if none is
// ready.
bool BackgroundWriter::carry_out(Lock& lock) {
  // Checksums come first, because a close waits for them.
  if (sum_next(lock)) return true;
  if (queue_.summed == 0) return false;
  if (queue_.requests.front().step) {
    CapturedWrite request = std::move(queue_.requests.front());
    queue_.requests.pop_front();
    --queue_.summed;
    run_step(lock, std::move(request));
    return true;
  }
  std::vector<CapturedWrite> run = take_run();
  queue_.running = run;
  lock.unlock();
  write_run(run);
  lock.lock();
  queue_.running = {};
  run.front().batch->pending_ -= std::ssize(run);
  run.clear();
  changed_.notify_all();
  return true;
}

// Removes the requests that one request to the file can carry out.
std::vector<BackgroundWriter::CapturedWrite> BackgroundWriter::take_run() {
  std::vector<CapturedWrite> run;
  int64_t end = queue_.requests.front().offset;
  size_t bytes = 0;
  for (; queue_.summed > 0; --queue_.summed) {
    CapturedWrite& next = queue_.requests.front();
    bytes += next.bytes.size();
    if (next.step || next.offset != end || (bytes > piece && !run.empty())) break;
    if (!run.empty() && next.file != run.front().file) break;
    end += std::ssize(next.bytes);
    run.push_back(std::move(next));
    queue_.requests.pop_front();
  }
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
  std::vector<CapturedWrite> due;
  std::erase_if(queue_.timed, [&](TimedStep& timed) {
    if (timed.due > now) return false;
    due.push_back(std::move(timed.request));
    return true;
  });
  for (CapturedWrite& request : due) run_step(lock, std::move(request));
  return !due.empty();
}

}  // namespace sheaf
