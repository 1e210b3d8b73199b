#include "exchange/stage.hpp"

#include <cstring>

namespace sheaf::exchange {

namespace {

size_t in_pages(size_t bytes) { return (bytes + stage_page - 1) / stage_page * stage_page; }

struct Places {
  size_t ranges, slots, maps, memory, end;
};

Places places(size_t head, const Stage::Shape& shape, int tasks) {
  const auto n = static_cast<size_t>(shape.slots);
  Places at{};
  at.ranges = in_pages(head);
  at.slots = at.ranges + in_pages(3 * static_cast<size_t>(tasks) * sizeof(Stage::Range));
  at.maps = at.slots + in_pages(n * sizeof(Stage::Slot));
  at.memory = at.maps + in_pages(n * CoverageMap::words_for(shape.window) * sizeof(uint64_t));
  at.end = at.memory + n * in_pages(static_cast<size_t>(shape.window));
  return at;
}

// Of memory with a stage in it (SharedMemory::label): its shape below a word of its own.
constexpr uint64_t stage_word = 0x57b;
uint64_t label_of(const Stage::Shape& shape) {
  return stage_word << 52 | static_cast<uint64_t>(shape.slots) << 40 | static_cast<uint64_t>(shape.window);
}
bool is_label(uint64_t label) { return label >> 52 == stage_word; }
Stage::Shape shape_in(uint64_t label) {
  return {static_cast<int64_t>(label & 0xff'ffff'ffff), static_cast<int>(label >> 40 & 0xfff)};
}

}  // namespace

Stage::Stage(std::shared_ptr<SharedMemory> shared, const Shape& shape, int tasks)
    : shared_(std::move(shared)), shape_(shape), tasks_(tasks) {
  std::byte* const base = shared_->bytes().data();
  const Places at = places(sizeof(Head), shape, tasks);
  head_ = reinterpret_cast<Head*>(base);
  ranges_ = reinterpret_cast<Range*>(base + at.ranges);
  slot_ = reinterpret_cast<Slot*>(base + at.slots);
  maps_ = reinterpret_cast<std::atomic<uint64_t>*>(base + at.maps);
  memory_ = base + at.memory;
}

std::unique_ptr<Stage> Stage::make(Comm& host, const Shape& shape) {
  const Places at = places(sizeof(Head), shape, host.size());
  auto shared = host.share_memory(at.end);
  if (!shared) return nullptr;
  std::unique_ptr<Stage> stage(new Stage(std::move(shared), shape, host.size()));
  if (host.rank() == 0) {
    if (!stage->shared_->is_fresh()) {
      std::memset(static_cast<void*>(stage->maps_), 0, at.memory - at.maps);
      stage->clear();
    }
  }
  stage->shared_->set_label(label_of(shape));
  host.barrier();
  return stage;
}

// All but the maps, which every window leaves clear behind it.
void Stage::clear() { std::memset(static_cast<void*>(head_), 0, places(sizeof(Head), shape_, tasks_).maps); }

void Stage::renew(Comm& host) {
  if (host.rank() != 0) return;
  auto kept = host.kept_memory();
  if (!kept || !is_label(kept->label())) return;
  const Shape shape = shape_in(kept->label());
  Stage(std::move(kept), shape, host.size()).clear();
}

std::unique_ptr<Stage> Stage::take_up(Comm& host, const Shape& shape) {
  auto kept = host.kept_memory();
  if (!kept || kept->label() != label_of(shape)) return nullptr;
  return std::unique_ptr<Stage>(new Stage(std::move(kept), shape, host.size()));
}

std::byte* Stage::memory(uint64_t number) const {
  return memory_ +
         number % static_cast<uint64_t>(shape_.slots) * in_pages(static_cast<size_t>(shape_.window));
}

}  // namespace sheaf::exchange
