#include "exchange/stage.hpp"

#include <cstring>

#include "exchange/coverage.hpp"

namespace sheaf::exchange {

namespace {

constexpr size_t page = 4096;

size_t in_pages(size_t bytes) { return (bytes + page - 1) / page * page; }

struct Places {
  size_t slots, table, maps, memory, end;
};

Places places(int64_t window, int slots) {
  const auto n = static_cast<size_t>(slots);
  Places at{};
  at.slots = in_pages(sizeof(Stage::Head));
  at.table = at.slots + in_pages(n * sizeof(Stage::Slot));
  at.maps = at.table + in_pages(2 * Stage::table_entries * sizeof(Stage::Entry));
  at.memory = at.maps + in_pages(n * CoverageMap::words_for(window) * sizeof(uint64_t));
  at.end = at.memory + n * in_pages(static_cast<size_t>(window));
  return at;
}

}  // namespace

Stage::Stage(std::unique_ptr<SharedMemory> shared, int64_t window, int slots)
    : shared_(std::move(shared)), window_(window), slots_(slots) {
  std::byte* const base = shared_->bytes().data();
  const Places at = places(window, slots);
  head_ = reinterpret_cast<Head*>(base);
  slot_ = reinterpret_cast<Slot*>(base + at.slots);
  table_ = reinterpret_cast<Entry*>(base + at.table);
  maps_ = reinterpret_cast<std::atomic<uint64_t>*>(base + at.maps);
  memory_ = base + at.memory;
}

std::unique_ptr<Stage> Stage::make(Comm& comm, int64_t window, int slots) {
  const Places at = places(window, slots);
  auto shared = comm.share_memory(at.end);
  if (!shared) return nullptr;
  std::unique_ptr<Stage> stage(new Stage(std::move(shared), window, slots));
  if (comm.rank() == 0) {
    std::memset(static_cast<void*>(stage->head_), 0, at.memory);
    for (uint32_t i = 0; i < static_cast<uint32_t>(slots); ++i) stage->slot_[i].use.store(i);
  }
  comm.barrier();
  return stage;
}

std::byte* Stage::memory(uint32_t number) const {
  return memory_ + number % static_cast<uint32_t>(slots_) * in_pages(static_cast<size_t>(window_));
}

std::span<std::atomic<uint64_t>> Stage::map(uint32_t number) const {
  const size_t words = CoverageMap::words_for(window_);
  return {maps_ + number % static_cast<uint32_t>(slots_) * words, words};
}

std::span<Stage::Entry> Stage::table(uint32_t leg) const {
  return {table_ + leg % 2 * table_entries, static_cast<size_t>(table_entries)};
}

std::shared_ptr<void> Stage::lend_to(File& file) const {
  const auto memory = shared_->lent();
  return memory ? file.lend(*memory) : nullptr;
}

void Stage::announce(Slot& slot) {
  slot.event.fetch_add(1);
  if (slot.sleepers.load() > 0) wake(slot.event);
}

}  // namespace sheaf::exchange
