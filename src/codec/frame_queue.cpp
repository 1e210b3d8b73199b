#include "codec/frame_queue.hpp"

#include <algorithm>
#include <system_error>

namespace sheaf::codec {

Compression with_threads(Compression how, int64_t tasks) {
  constexpr int64_t most_threads = 3;
  if (how.threads == Compression::automatic_threads)
    how.threads = static_cast<int32_t>(std::clamp<int64_t>(std::thread::hardware_concurrency() / tasks - 1, 0, most_threads));
  return how;
}

FrameQueue::~FrameQueue() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    to_do_.clear();
  }
  changed_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

// A machine that gives no thread loses only time.
void FrameQueue::start_threads() {
  started_ = true;
  try {
    for (int32_t i = 0; i < how_.threads; ++i) workers_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {
  }
}

void FrameQueue::work() {
  FrameEncoder encoder(how_);
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ends_ || !to_do_.empty(); });
    if (ends_) return;
    Piece& piece = *to_do_.front();
    to_do_.pop_front();
    lock.unlock();
    std::span<const std::byte> frame;
    try {
      frame = encoder.encode(piece.at, piece.plain, piece.out);
    } catch (const std::bad_alloc&) {  // left to the caller, whose it is to fail
    }
    lock.lock();
    piece.frame = frame;
    if (frame.empty()) to_do_.push_front(&piece);
    changed_.notify_all();
    if (frame.empty()) return;
  }
}

void FrameQueue::push(const format::PlainPlace& at, std::span<const std::byte> plain) {
  if (!started_ && how_.threads > 0 && plain.size() >= how_.frame) start_threads();
  std::unique_ptr<Piece> piece;
  if (spare_.empty()) {
    piece = std::make_unique<Piece>();
  } else {
    piece = std::move(spare_.back());
    spare_.pop_back();
  }
  piece->at = at;
  piece->frame = {};
  if (workers_.empty()) {
    piece->frame = own_.encode(at, plain, piece->out);
    pieces_.push_back(std::move(piece));
    return;
  }
  const std::span<std::byte> copy = piece->memory.at_least(plain.size());
  std::ranges::copy(plain, copy.begin());
  piece->plain = copy;
  {
    const std::lock_guard lock(mutex_);
    pieces_.push_back(std::move(piece));
    to_do_.push_back(pieces_.back().get());
  }
  changed_.notify_all();
}

std::optional<std::span<const std::byte>> FrameQueue::front(bool wait) {
  Piece& first = *pieces_.front();
  if (workers_.empty()) return first.frame;
  std::unique_lock lock(mutex_);
  while (first.frame.empty()) {
    if (!wait) return std::nullopt;
    if (const auto open = std::ranges::find(to_do_, &first); open != to_do_.end()) {  // better than to wait for it
      to_do_.erase(open);
      lock.unlock();
      const auto frame = own_.encode(first.at, first.plain, first.out);
      lock.lock();
      first.frame = frame;
      break;
    }
    changed_.wait(lock);
  }
  return first.frame;
}

void FrameQueue::pop() {
  spare_.push_back(std::move(pieces_.front()));
  pieces_.pop_front();
}

}  // namespace sheaf::codec
