#include "simulation/taping_store.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "storage/decorators/forwarding_file.hpp"
#include "support/fibers/fiber_comm.hpp"

namespace sheaf::simulation {

namespace {

constexpr int64_t max_data = 64 << 20;
constexpr std::byte pattern{0xa5};

// Returns the task that makes the current call; -1 outside of a run.
int caller() { return memory_owner(); }

bool is_pattern(std::span<const std::byte> data) {
  constexpr size_t end = 16;
  if (data.size() < 4 * end) return false;
  const auto all = [](std::span<const std::byte> part) {
    return std::ranges::all_of(part, [](std::byte b) { return b == pattern; });
  };
  return all(data.first(end)) && all(data.last(end));
}

bool is_program_data(std::span<const std::byte> data) {
  const std::span<const std::byte> mine = program_data(0);
  return data.data() >= mine.data() && data.data() < mine.data() + max_data;
}

class TapingFile final : public ForwardingFile {
 public:
  TapingFile(std::shared_ptr<File> file, SimulationTape& tape, Keep keep, int64_t scale)
      : ForwardingFile(std::move(file)),
        tape_(tape),
        keep_(keep),
        scale_(scale),
        number_(tape.file(path())) {}
  ~TapingFile() override { note_close(); }

  void write_at(std::span<const std::byte> data, int64_t offset) override {
    const int64_t length = std::ssize(data);
    note(SimulationStepKind::write, offset, length);
    if (keep_ == Keep::metadata && !is_pattern(data)) return inner().write_at(data, offset);
    if (inner().status().size < offset + length) inner().resize(offset + length);
  }
  // Records one write, because the tape contains requests rather than pieces of memory.
  void write_pieces(std::span<const Piece<const std::byte>> pieces) override {
    for (size_t i = 0; i < pieces.size();) {
      const int64_t begin = pieces[i].offset;
      int64_t end = begin;
      for (; i < pieces.size() && pieces[i].offset == end; end = pieces[i++].end())
        if (keep_ == Keep::metadata && !is_pattern(pieces[i].memory))
          inner().write_at(pieces[i].memory, pieces[i].offset);
      note(SimulationStepKind::write, begin, end - begin);
      if (inner().status().size < end) inner().resize(end);
    }
  }
  size_t read_at(std::span<std::byte> data, int64_t offset) override {
    note(SimulationStepKind::read, offset, std::ssize(data));
    if (keep_ == Keep::metadata && !is_program_data(data)) return inner().read_at(data, offset);
    return static_cast<size_t>(std::clamp<int64_t>(inner().status().size - offset, 0, std::ssize(data)));
  }
  void sync() override { tape_.note(caller(), {.file = number_, .kind = SimulationStepKind::sync}); }
  void close() override {
    note_close();
    ForwardingFile::close();
  }

 private:
  void note(SimulationStepKind kind, int64_t offset, int64_t length) {
    if (length > 0 || kind == SimulationStepKind::close)
      tape_.note(caller(),
                 {.offset = offset * scale_, .length = length * scale_, .file = number_, .kind = kind});
  }
  void note_close() {
    if (!std::exchange(closed_, true)) note(SimulationStepKind::close, 0, 0);
  }

  SimulationTape& tape_;
  const Keep keep_;
  const int64_t scale_;
  const int32_t number_;
  bool closed_ = false;
};

class TapingSlots final : public WriteSlots {
 public:
  TapingSlots(SimulationTape& tape, int32_t number)
      : tape_(tape), number_(number), name_(std::to_string(number)) {}

  int take() override {
    tape_.note(caller(), {.file = number_, .kind = SimulationStepKind::take});
    return 0;
  }
  void give_back(int) noexcept override {
    tape_.note(caller(), {.file = number_, .kind = SimulationStepKind::release});
  }
  const std::string& name() const override { return name_; }
  void hide() noexcept override {}

 private:
  SimulationTape& tape_;
  const int32_t number_;
  const std::string name_;
};

}  // namespace

std::span<std::byte> program_data(int64_t bytes) {
  static std::byte* const memory = [] {
    auto* made = new std::byte[max_data];
    std::memset(made, static_cast<int>(pattern), max_data);
    return made;
  }();
  return {memory, static_cast<size_t>(std::min(bytes, max_data))};
}

std::shared_ptr<File> TapingStore::open(const std::string& path, Access access) {
  const bool there = memory_.status(path).exists;
  auto file = std::make_shared<TapingFile>(memory_.open(path, access), tape_, keep_, scale_);
  tape_.note(caller(), {.file = tape_.file(path),
                        .place = tape_.directory_of(path),
                        .kind = there ? SimulationStepKind::open : SimulationStepKind::create});
  return file;
}

std::shared_ptr<WriteSlots> TapingStore::make_slots(int count) {
  return std::make_shared<TapingSlots>(tape_, tape_.new_slots(count));
}

std::shared_ptr<WriteSlots> TapingStore::join_slots(const std::string& name, int) {
  return std::make_shared<TapingSlots>(tape_, static_cast<int32_t>(std::stol(name)));
}

FileSystemTraits TapingStore::traits(const std::string&) {
  FileSystemTraits traits;
  traits.kind = FileSystem::gpfs;
  traits.coherence = Coherence::coherent;
  traits.locks = LockScope::global;
  traits.unit = block_;
  return traits;
}

}  // namespace sheaf::simulation
