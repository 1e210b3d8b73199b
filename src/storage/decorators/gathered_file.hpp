// storage/decorators/gathered_file: a File that buffers small writes and merges adjacent ones into one
// request. It serves metadata, which consists of many small adjacent arrays, because each write to a file on
// a server costs a message.
#pragma once

#include <map>
#include <vector>

#include "storage/decorators/forwarding_file.hpp"

namespace sheaf {

// Reads through this File see the buffered bytes. Other readers see them after flush(). sync() and all other
// calls that are no transfers run flush() first. A failed flush() keeps the bytes that it has not written.
// Bytes that are not flushed are lost with the object. One thread at a time. Buffers at most
// storage_constants::max_gathered bytes; larger writes are not buffered.
class GatheredFile final : public ForwardingFile {
 public:
  using ForwardingFile::ForwardingFile;

  // Writes the buffered bytes in the order of offsets. Throws the errors of write_at().
  void flush();

  void write_at(std::span<const std::byte> data, int64_t offset) override;
  size_t read_at(std::span<std::byte> data, int64_t offset) override;
  FileStatus status() override;
  void resize(int64_t size) override { flushed().resize(size); }
  void sync() override { flushed().sync(); }
  void revalidate() override { flushed().revalidate(); }
  int64_t next(Space space, int64_t offset) override { return flushed().next(space, offset); }
  FileDescriptor descriptor(DescriptorKind kind) override {
    flush();
    return ForwardingFile::descriptor(kind);
  }
  void close() override { flushed().close(); }

 private:
  using Runs = std::map<int64_t, std::vector<std::byte>>;  // by offset; runs do not touch
  static int64_t end_of(const Runs::value_type& run) { return run.first + std::ssize(run.second); }
  Runs::iterator first_behind(int64_t offset);
  File& flushed() {
    flush();
    return inner();
  }

  Runs kept_;
  size_t bytes_ = 0;  // bytes in kept_
};

}  // namespace sheaf
