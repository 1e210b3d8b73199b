#include "storage/decorators/throttled_file.hpp"

#include <utility>

#include "storage/decorators/forwarding_file.hpp"

namespace sheaf {

namespace {

class ThrottledFile final : public ForwardingFile, public DirectIo {
 public:
  ThrottledFile(std::shared_ptr<File> inner, std::shared_ptr<WriteSlots> slots)
      : ForwardingFile(std::move(inner)), slots_(std::move(slots)) {}

  void write_at(std::span<const std::byte> data, int64_t offset) override {
    const Slot slot(*slots_);
    inner().write_at(data, offset);
  }
  void write_pieces(std::span<const Piece<const std::byte>> pieces) override {
    const Slot slot(*slots_);
    inner().write_pieces(pieces);
  }
  size_t read_at(std::span<std::byte> data, int64_t offset) override {
    const Slot slot(*slots_);
    return inner().read_at(data, offset);
  }
  void read_pieces(std::span<const Piece<std::byte>> pieces) override {
    const Slot slot(*slots_);
    inner().read_pieces(pieces);
  }
  bool write_past_cache(std::span<const std::byte> data, int64_t offset) override {
    const Slot slot(*slots_);
    return inner().traits().past_cache->write_past_cache(data, offset);
  }
  size_t read_past_cache(std::span<std::byte> data, int64_t offset) override {
    const Slot slot(*slots_);
    return inner().traits().past_cache->read_past_cache(data, offset);
  }
  void publish() override { inner().traits().past_cache->publish(); }
  int64_t renew_opened() override { return inner().traits().past_cache->renew_opened(); }
  void know(FileSystem kind) override { inner().traits().past_cache->know(kind); }
  FileTraits traits() override {
    FileTraits traits = inner().traits();
    if (traits.past_cache) traits.past_cache = this;
    return traits;
  }
  FileDescriptor descriptor(DescriptorKind whose) override { return inner().descriptor(whose); }

 private:
  const std::shared_ptr<WriteSlots> slots_;
};

}  // namespace

std::shared_ptr<File> throttled(std::shared_ptr<File> file, std::shared_ptr<WriteSlots> slots) {
  if (!slots) return file;
  return std::make_shared<ThrottledFile>(std::move(file), std::move(slots));
}

}  // namespace sheaf
