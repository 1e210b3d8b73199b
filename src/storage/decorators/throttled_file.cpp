#include "storage/decorators/throttled_file.hpp"

#include <utility>

#include "storage/decorators/forwarding_file.hpp"
#include "storage/scattered.hpp"

namespace sheaf {

namespace {

class ThrottledFile : public ForwardingFile {
 public:
  ThrottledFile(std::shared_ptr<File> inner, std::shared_ptr<WriteSlots> slots)
      : ForwardingFile(std::move(inner)), slots_(std::move(slots)) {}

  void write_at(std::span<const std::byte> data, int64_t offset) override {
    const Slot slot(*slots_);
    inner().write_at(data, offset);
  }
  void write_vector_at(std::span<const std::span<const std::byte>> parts, int64_t offset) override {
    const Slot slot(*slots_);
    inner().write_vector_at(parts, offset);
  }
  size_t read_at(std::span<std::byte> data, int64_t offset) override {
    const Slot slot(*slots_);
    return inner().read_at(data, offset);
  }
  bool write_through(std::span<const std::byte> data, int64_t offset) override {
    const Slot slot(*slots_);
    return inner().write_through(data, offset);
  }
  size_t read_through(std::span<std::byte> data, int64_t offset) override {
    const Slot slot(*slots_);
    return inner().read_through(data, offset);
  }
  void copy_to(File& target, int64_t offset, int64_t target_offset, int64_t length) override {
    inner().copy_to(target, offset, target_offset, length);
  }
  int64_t next_hole(int64_t offset) override { return inner().next_hole(offset); }
  std::shared_ptr<void> lend(const LentMemory& memory) override { return inner().lend(memory); }
  void announce(int64_t offset) override { inner().announce(offset); }
  LockResult lock(int64_t offset, int64_t length, bool exclusive, Barred barred) override {
    return inner().lock(offset, length, exclusive, barred);
  }
  bool try_lock(int64_t offset, int64_t length, bool exclusive) override {
    return inner().try_lock(offset, length, exclusive);
  }
  void expect_lockers(int64_t tasks) override { inner().expect_lockers(tasks); }
  void unlock(int64_t offset, int64_t length) override { inner().unlock(offset, length); }
  void allocate(int64_t size) override { inner().allocate(size); }
  int writers_at_once() override { return inner().writers_at_once(); }
  int descriptor() const override { return inner().descriptor(); }

 protected:
  const std::shared_ptr<WriteSlots> slots_;
};

// Of a file that takes many pieces at once: so does this one, a call in one slot.
class ThrottledPieces final : public ThrottledFile, public ScatteredFile {
 public:
  ThrottledPieces(std::shared_ptr<File> inner, ScatteredFile& pieces, std::shared_ptr<WriteSlots> slots)
      : ThrottledFile(std::move(inner), std::move(slots)), pieces_(pieces) {}

  void write_scattered(std::span<const Piece> pieces) override {
    const Slot slot(*slots_);
    pieces_.write_scattered(pieces);
  }
  void read_scattered(std::span<const Piece> pieces) override {
    const Slot slot(*slots_);
    pieces_.read_scattered(pieces);
  }

 private:
  ScatteredFile& pieces_;  // the inner file
};

}  // namespace

std::shared_ptr<File> throttled(std::shared_ptr<File> file, std::shared_ptr<WriteSlots> slots) {
  if (!slots) return file;
  if (auto* const pieces = dynamic_cast<ScatteredFile*>(file.get()))
    return std::make_shared<ThrottledPieces>(std::move(file), *pieces, std::move(slots));
  return std::make_shared<ThrottledFile>(std::move(file), std::move(slots));
}

}  // namespace sheaf
