#include "storage/throttled_file.hpp"

#include <utility>

namespace sheaf {

namespace {

class ThrottledFile final : public File {
 public:
  ThrottledFile(std::shared_ptr<File> inner, std::shared_ptr<WriteSlots> slots)
      : inner_(std::move(inner)), slots_(std::move(slots)) {}

  void write_at(std::span<const std::byte> data, int64_t offset) override {
    const Slot slot(*slots_);
    inner_->write_at(data, offset);
  }
  void write_vector_at(std::span<const std::span<const std::byte>> parts, int64_t offset) override {
    const Slot slot(*slots_);
    inner_->write_vector_at(parts, offset);
  }
  void copy_to(File& target, int64_t offset, int64_t target_offset, int64_t length) override {
    inner_->copy_to(target, offset, target_offset, length);
  }
  size_t read_at(std::span<std::byte> data, int64_t offset) override { return inner_->read_at(data, offset); }
  FileStatus status() override { return inner_->status(); }
  void resize(int64_t size) override { inner_->resize(size); }
  void sync() override { inner_->sync(); }
  int64_t next_data(int64_t offset) override { return inner_->next_data(offset); }
  int64_t next_hole(int64_t offset) override { return inner_->next_hole(offset); }
  void expect_company(SharedWord* words) override { inner_->expect_company(words); }
  int32_t border() override { return inner_->border(); }
  bool set_aside(int64_t offset, int64_t length) override { return inner_->set_aside(offset, length); }
  void give_back(int64_t offset, int64_t length) override { inner_->give_back(offset, length); }
  void announce(int64_t offset) override { inner_->announce(offset); }
  void lock(int64_t offset, int64_t length, bool exclusive) override { inner_->lock(offset, length, exclusive); }
  void unlock(int64_t offset, int64_t length) override { inner_->unlock(offset, length); }
  void allocate(int64_t size) override { inner_->allocate(size); }
  int writers_at_once() override { return inner_->writers_at_once(); }
  int descriptor() const override { return inner_->descriptor(); }
  const std::string& path() const override { return inner_->path(); }
  void close() override { inner_->close(); }

 private:
  const std::shared_ptr<File> inner_;
  const std::shared_ptr<WriteSlots> slots_;
};

}  // namespace

std::shared_ptr<File> throttled(std::shared_ptr<File> file, std::shared_ptr<WriteSlots> slots) {
  if (!slots) return file;
  return std::make_shared<ThrottledFile>(std::move(file), std::move(slots));
}

}  // namespace sheaf
