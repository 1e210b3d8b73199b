#include "exchange/groups/node_mail.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <new>

namespace sheaf::exchange {

namespace {

constexpr size_t line = 64;

size_t in_lines(int64_t bytes) { return (static_cast<size_t>(bytes) + line - 1) / line * line; }

// A little more, so that requests that grow from round to round do not take new memory each time.
int64_t rounded(int64_t bytes) {
  const auto step = std::max<uint64_t>(std::bit_ceil(static_cast<uint64_t>(bytes)) / 16, line);
  return static_cast<int64_t>((static_cast<uint64_t>(bytes) + step - 1) / step * step);
}

}  // namespace

// Words of the phases of an aggregator, and what a slot of the task holds.
struct NodeMail::Box {
  alignas(line) SharedWord words[4];
  alignas(line) std::atomic<int64_t> bytes[2];
  int task;  // of `all_`
};

size_t NodeMail::stride() const {
  return in_lines(room_.code) + static_cast<size_t>(room_.slots) * in_lines(room_.slot);
}

Comm* NodeMail::tasks_of_node() { return node_ ? node_.get() : &all_; }

void NodeMail::provide(const Room& room) {
  if (given_up_ || all_.size() == 1) return;
  if (memory_ && room.code <= room_.code && room.slot <= room_.slot && room.slots <= room_.slots) return;
  room_.code = std::max(room_.code, rounded(room.code));
  room_.slot = std::max(room_.slot, rounded(room.slot));
  room_.slots = std::max(room_.slots, room.slots);
  phase_ = 0;
  const bool first = !memory_ && !node_;
  memory_.reset();
  const auto wanted = [&] { return tasks() * (sizeof(Box) + stride()); };
  memory_ = tasks_of_node()->share_memory(wanted());
  if (!memory_ && first) {
    node_ = all_.split_by_node();
    if (node_->size() > 1 && node_->size() < all_.size()) memory_ = node_->share_memory(wanted());
  }
  given_up_ = !memory_;
  if (given_up_) return;
  Comm& here = *tasks_of_node();
  std::byte* const own = memory_->bytes().data() + static_cast<size_t>(here.rank()) * sizeof(Box);
  (new (own) Box{})->task = all_.rank();
  here.barrier();
  members_.clear();
  for (size_t i = 0; node_ && i < tasks(); ++i)
    members_.push_back(reinterpret_cast<const Box*>(memory_->bytes().data())[i].task);
}

bool NodeMail::reaches(int task) const {
  return memory_ && (!node_ || std::ranges::binary_search(members_, task));
}

size_t NodeMail::index_of(int task) const {
  return node_ ? static_cast<size_t>(std::ranges::lower_bound(members_, task) - members_.begin())
               : static_cast<size_t>(task);
}

NodeMail::Box& NodeMail::box(int task) const {
  return reinterpret_cast<Box*>(memory_->bytes().data())[index_of(task)];
}

std::span<std::byte> NodeMail::code(int task) const {
  return {memory_->bytes().data() + tasks() * sizeof(Box) + index_of(task) * stride(),
          static_cast<size_t>(room_.code)};
}

std::byte* NodeMail::slot(int task, int64_t round) const {
  return code(task).data() + in_lines(room_.code) +
         static_cast<size_t>(round % room_.slots) * in_lines(room_.slot);
}

void NodeMail::set_bytes(int task, int64_t round, int64_t bytes) const {
  box(task).bytes[round % 2].store(bytes, std::memory_order_relaxed);
}

int64_t NodeMail::bytes(int task, int64_t round) const {
  return box(task).bytes[round % 2].load(std::memory_order_relaxed);
}

void NodeMail::serve(int first, int last, int aggregator) {
  first_ = first;
  last_ = last;
  aggregator_ = aggregator;
}

NodeMail::Phases NodeMail::phases() const {
  int64_t here = last_ - first_ + 1;
  if (node_) here = std::ranges::upper_bound(members_, last_) - std::ranges::lower_bound(members_, first_);
  return {*memory_, box(aggregator_).words, static_cast<uint32_t>(here - 1)};
}

}  // namespace sheaf::exchange
