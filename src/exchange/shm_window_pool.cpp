#include "exchange/shm_window_pool.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/assert.hpp"
#include "base/os/map_at_once.hpp"

namespace sheaf::exchange {

namespace {

size_t in_pages(size_t bytes) { return (bytes + window_page - 1) / window_page * window_page; }

struct Places {
  size_t ranges, slots, maps, memory, end;
};

Places places(size_t head, const WindowPoolShape& shape, int tasks) {
  const auto n = static_cast<size_t>(shape.slots);
  Places at{};
  at.ranges = in_pages(head);
  at.slots = at.ranges + in_pages(3 * static_cast<size_t>(tasks) * sizeof(ShmWindowPool::TaskExtent));
  at.maps = at.slots + in_pages(n * sizeof(ShmWindowPool::WindowSlot));
  at.memory = at.maps + in_pages(n * CoverageMap::words_for(shape.window) * sizeof(uint64_t));
  at.end = at.memory + n * in_pages(static_cast<size_t>(shape.window));
  return at;
}

}  // namespace

ShmWindowPool::ShmWindowPool(std::shared_ptr<SharedMemory> shared, const WindowPoolShape& shape, int tasks)
    : shared_(std::move(shared)), shape_(shape), tasks_(tasks) {
  SHEAF_ASSERT(shape.window > 0 && shape.slots > 0 && tasks > 0);
  SHEAF_ASSERT(shared_->bytes().size() >= places(sizeof(WindowPoolHeader), shape, tasks).end);
  std::byte* const base = shared_->bytes().data();
  const Places at = places(sizeof(WindowPoolHeader), shape, tasks);
  head_ = reinterpret_cast<WindowPoolHeader*>(base);
  ranges_ = reinterpret_cast<TaskExtent*>(base + at.ranges);
  slot_ = reinterpret_cast<WindowSlot*>(base + at.slots);
  maps_ = reinterpret_cast<std::atomic<uint64_t>*>(base + at.maps);
  memory_ = base + at.memory;
  mapped_.resize(static_cast<size_t>(shape.slots));
}

std::unique_ptr<ShmWindowPool> ShmWindowPool::make(Comm& host, const WindowPoolShape& shape) {
  const Places at = places(sizeof(WindowPoolHeader), shape, host.size());
  auto shared = host.share_memory(at.end);
  if (!shared) return nullptr;
  std::unique_ptr<ShmWindowPool> pool(new ShmWindowPool(std::move(shared), shape, host.size()));
  if (host.rank() == 0 && !pool->shared_->is_fresh())
    std::memset(pool->shared_->bytes().data(), 0, at.memory);
  host.barrier();
  return pool;
}

std::byte* ShmWindowPool::memory(uint64_t number, int64_t length) {
  SHEAF_DEBUG_ASSERT(length >= 0 && length <= shape_.window);
  const size_t at = number % static_cast<uint64_t>(shape_.slots);
  std::byte* const memory = memory_ + at * in_pages(static_cast<size_t>(shape_.window));
  const size_t mapped =
      std::exchange(mapped_[at], std::max(mapped_[at], in_pages(static_cast<size_t>(length))));
  if (mapped < mapped_[at]) map_at_once({memory + mapped, mapped_[at] - mapped});
  return memory;
}

}  // namespace sheaf::exchange
