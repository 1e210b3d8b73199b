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

// Of memory with a stage in it (SharedMemory::label): its windows and slots below a word of its own.
constexpr uint64_t stage_word = 0x57a6;
uint64_t label_of(int64_t window, int slots) { return stage_word << 48 | static_cast<uint64_t>(slots) << 40 | static_cast<uint64_t>(window); }
bool is_label(uint64_t label) { return label >> 48 == stage_word; }
int slots_in(uint64_t label) { return static_cast<int>(label >> 40 & 0xff); }
int64_t window_in(uint64_t label) { return static_cast<int64_t>(label & 0xff'ffff'ffff); }

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
    std::memset(static_cast<void*>(stage->maps_), 0, at.memory - at.maps);
    stage->clear();
  }
  stage->shared_->set_label(label_of(window, slots));
  comm.barrier();
  return stage;
}

// All but the maps, which every window leaves clear behind it.
void Stage::clear() {
  std::memset(static_cast<void*>(head_), 0, places(window_, slots_).maps);
  for (uint32_t i = 0; i < static_cast<uint32_t>(slots_); ++i) slot_[i].use.store(i);
}

void Stage::renew(Comm& comm) {
  if (comm.rank() != 0) return;
  auto kept = comm.kept_memory();
  if (!kept || !is_label(kept->label())) return;
  const int64_t window = window_in(kept->label());
  const int slots = slots_in(kept->label());
  Stage(std::move(kept), window, slots).clear();
}

std::unique_ptr<Stage> Stage::take_up(Comm& comm, int64_t window, int slots) {
  auto kept = comm.kept_memory();
  if (!kept || kept->label() != label_of(window, slots)) return nullptr;
  return std::unique_ptr<Stage>(new Stage(std::move(kept), window, slots));
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
