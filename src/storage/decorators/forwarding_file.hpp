// storage/decorators/forwarding_file: a File that forwards its calls to another File; decorators override
// some of them. Traits, segment transfers, transfers past the cache, publish(),
// revalidate_opened() and the File's own descriptor keep the defaults of File, because a caller must not
// bypass a decorator.
#pragma once

#include <memory>
#include <utility>

#include "storage/file.hpp"

namespace sheaf {

class ForwardingFile : public File {
 public:
  explicit ForwardingFile(std::shared_ptr<File> inner) : inner_(std::move(inner)) {}
  void write_at(std::span<const std::byte> data, int64_t offset) override { inner_->write_at(data, offset); }
  size_t read_at(std::span<std::byte> data, int64_t offset) override { return inner_->read_at(data, offset); }
  FileStatus status() override { return inner_->status(); }
  void resize(int64_t size) override { inner_->resize(size); }
  void sync() override { inner_->sync(); }
  void revalidate() override { inner_->revalidate(); }
  void know(FileSystem kind) override { inner_->know(kind); }
  int64_t next(Space space, int64_t offset) override { return inner_->next(space, offset); }
  RangeLock lock_range(const LockRequest& wanted) override { return inner_->lock_range(wanted); }
  FileDescriptor descriptor(DescriptorKind kind) override {
    return kind == DescriptorKind::file ? FileDescriptor{} : inner_->descriptor(kind);
  }
  void require_unchanged() override { inner_->require_unchanged(); }
  bool evict() override { return inner_->evict(); }
  void reopen() override { inner_->reopen(); }
  const std::string& path() const override { return inner_->path(); }
  void close() override { inner_->close(); }

 protected:
  File& inner() const { return *inner_; }
  const std::shared_ptr<File>& shared_inner() const { return inner_; }
  // Forwards to `other` from now on. Returns the former file.
  std::shared_ptr<File> replace_inner(std::shared_ptr<File> other) {
    return std::exchange(inner_, std::move(other));
  }

 private:
  std::shared_ptr<File> inner_;
};

}  // namespace sheaf
