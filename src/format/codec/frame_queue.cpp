#include "format/codec/frame_queue.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/assert.hpp"
#include "base/forks.hpp"
#include "base/service_thread.hpp"

namespace sheaf::codec {

Compression with_threads(Compression how, int64_t tasks) {
  SHEAF_ASSERT(tasks > 0);
  constexpr int64_t max_threads = 3;
  if (how.threads == Compression::automatic_threads)
    how.threads = static_cast<int32_t>(
        std::clamp<int64_t>(std::thread::hardware_concurrency() / tasks - 1, 0, max_threads));
  return how;
}

// The threads and the pieces they process. The caller owns the pieces. A thread processes one piece at a
// time, and writes only its members `out` and `frame`.
struct FrameQueue::Crew {
  ~Crew() {
    {
      const std::lock_guard lock(mutex);
      ends = true;
      to_do.clear();
    }
    changed.notify_all();
    for (std::thread& worker : workers) worker.join();
  }

  void work(const Compression& how) {
    FrameEncoder encoder(how);
    std::unique_lock lock(mutex);
    for (bool done = true; done;) {
      changed.wait(lock, [&] { return ends || !to_do.empty(); });
      if (ends) return;
      QueuedFrame& piece = *to_do.front();
      to_do.pop_front();
      lock.unlock();
      std::span<const std::byte> frame;
      try {
        frame = encoder.encode(piece.at, piece.plain, piece.out);
      } catch (const std::bad_alloc&) {  // the caller encodes the piece again and reports the error
      }
      lock.lock();
      piece.frame = frame;
      done = !frame.empty();
      if (!done) to_do.push_front(&piece);
      changed.notify_all();
    }
  }

  const int64_t process = forks();  // fork count of the process that has the threads
  std::mutex mutex;                 // guards the following members and the frames of pieces
  std::condition_variable changed;
  std::deque<QueuedFrame*> to_do;
  bool ends = false;
  std::vector<std::thread> workers;
};

FrameQueue::FrameQueue(const Compression& how) : how_(how), own_(how) { SHEAF_ASSERT(how.threads >= 0); }

FrameQueue::~FrameQueue() {
  look_for_fork();
  crew_.reset();
}

bool FrameQueue::full() const { return pieces_.size() >= (crew_ ? crew_->workers.size() : 0) + 1; }

// Starts the threads. Ignores failures, because compression works without threads, only more slowly.
void FrameQueue::start_threads() {
  started_ = true;
  auto crew = std::make_unique<Crew>();
  try {
    for (int32_t i = 0; i < how_.threads; ++i)
      crew->workers.push_back(service_thread([c = crew.get(), how = how_] { c->work(how); }));
  } catch (const std::system_error&) {
  }
  if (!crew->workers.empty()) crew_ = std::move(crew);
}

// Recovers the queue in a forked child, which has no threads to process the pieces. What the threads did at
// the fork is unknown: they may have held a lock or written part of a frame. The child therefore leaks
// everything that the threads could write to, and compresses the plain bytes again, which they only read.
void FrameQueue::look_for_fork() {
  if (!crew_ || crew_->process == forks()) return;
  static_cast<void>(crew_.release());
  for (std::unique_ptr<QueuedFrame>& piece : pieces_) {
    auto again = std::make_unique<QueuedFrame>();
    again->at = piece->at;
    again->plain = piece->plain;
    std::swap(again->memory, piece->memory);
    static_cast<void>(piece.release());
    piece = std::move(again);
  }
}

void FrameQueue::push(const format::PlainPlace& at, std::span<const std::byte> plain) {
  SHEAF_ASSERT(!full() && plain.size() <= how_.frame);
  look_for_fork();  // the queue of a child may then hold more than it takes
  if (!started_ && how_.threads > 0 && plain.size() >= how_.frame) start_threads();
  if (spare_.empty()) spare_.push_back(std::make_unique<QueuedFrame>());
  std::unique_ptr<QueuedFrame> piece = std::move(spare_.back());
  spare_.pop_back();
  piece->at = at;
  piece->frame = {};
  if (!crew_) {
    piece->frame = own_.encode(at, plain, piece->out);
    pieces_.push_back(std::move(piece));
    return;
  }
  const std::span<std::byte> copy = piece->memory.at_least(plain.size());
  std::ranges::copy(plain, copy.begin());
  piece->plain = copy;
  {
    const std::lock_guard lock(crew_->mutex);
    pieces_.push_back(std::move(piece));
    crew_->to_do.push_back(pieces_.back().get());
  }
  crew_->changed.notify_all();
}

std::optional<std::span<const std::byte>> FrameQueue::front(bool wait) {
  SHEAF_ASSERT(!empty());
  look_for_fork();
  QueuedFrame& first = *pieces_.front();
  const auto encode = [&] { return own_.encode(first.at, first.plain, first.out); };
  if (!crew_) {
    if (first.frame.empty()) first.frame = encode();
    return first.frame;
  }
  std::unique_lock lock(crew_->mutex);
  while (first.frame.empty()) {
    if (!wait) return std::nullopt;
    auto& to_do = crew_->to_do;
    if (const auto open = std::ranges::find(to_do, &first);
        open != to_do.end()) {  // faster than waiting for a thread
      to_do.erase(open);
      lock.unlock();
      const auto frame = encode();
      lock.lock();
      first.frame = frame;
      break;
    }
    crew_->changed.wait(lock);
  }
  return first.frame;
}

void FrameQueue::pop() {
  SHEAF_ASSERT(!empty());
  spare_.push_back(std::move(pieces_.front()));
  pieces_.pop_front();
}

}  // namespace sheaf::codec
