#include "storage/decorators/throttled_file.hpp"

#include <utility>

#include "storage/decorators/forwarding_file.hpp"

namespace sheaf {

namespace {

class ThrottledFile final : public ForwardingFile {
 public:
  ThrottledFile(std::shared_ptr<File> inner, std::shared_ptr<WriteSlots> slots)
      : ForwardingFile(std::move(inner)), slots_(std::move(slots)) {}

  void write_at(std::span<const std::byte> data, int64_t offset) override {
    const HeldWriteSlot slot(*slots_);
    inner().write_at(data, offset);
  }
  void write_pieces(std::span<const Piece<const std::byte>> pieces) override {
    const HeldWriteSlot slot(*slots_);
    inner().write_pieces(pieces);
  }
  size_t read_at(std::span<std::byte> data, int64_t offset) override {
    const HeldWriteSlot slot(*slots_);
    return inner().read_at(data, offset);
  }
  void read_pieces(std::span<const Piece<std::byte>> pieces) override {
    const HeldWriteSlot slot(*slots_);
    inner().read_pieces(pieces);
  }
  bool write_directly(std::span<const std::byte> data, int64_t offset) override {
    const HeldWriteSlot slot(*slots_);
    return inner().write_directly(data, offset);
  }
  size_t read_directly(std::span<std::byte> data, int64_t offset) override {
    const HeldWriteSlot slot(*slots_);
    return inner().read_directly(data, offset);
  }
  void publish() override { inner().publish(); }
  int64_t revalidate_opened() override { return inner().revalidate_opened(); }
  FileTraits traits() override { return inner().traits(); }
  FileDescriptor descriptor(DescriptorKind kind) override { return inner().descriptor(kind); }

 private:
  const std::shared_ptr<WriteSlots> slots_;
};

}  // namespace

std::shared_ptr<File> throttled(std::shared_ptr<File> file, std::shared_ptr<WriteSlots> slots) {
  if (!slots) return file;
  return std::make_shared<ThrottledFile>(std::move(file), std::move(slots));
}

}  // namespace sheaf
