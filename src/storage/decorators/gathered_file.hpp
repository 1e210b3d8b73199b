// storage/decorators/gathered_file: a File whose small writes are kept until they go out together, neighbours
// in one request. For metadata, which is made of many small arrays side by side: where files are at a server
// each write is a message.
#pragma once

#include <map>
#include <vector>

#include "storage/decorators/forwarding_file.hpp"

namespace sheaf {

// Reads find what is kept. Nobody else does before flush(), which sync() and whatever asks for more than
// bytes call first; what a failed flush() has kept stays kept. Without a flush it is gone with the object.
// For one thread. Memory: at most storage_constants::most_gathered bytes, and larger writes pass by.
class GatheredFile final : public ForwardingFile {
 public:
  using ForwardingFile::ForwardingFile;

  // Writes what is kept, in the order of offsets. Throws what writes throw.
  void flush();

  void write_at(std::span<const std::byte> data, int64_t offset) override;
  size_t read_at(std::span<std::byte> data, int64_t offset) override;
  FileStatus status() override;
  void resize(int64_t size) override { flushed().resize(size); }
  void sync() override { flushed().sync(); }
  void renew() override { flushed().renew(); }
  int64_t next(Space space, int64_t offset) override { return flushed().next(space, offset); }
  FileDescriptor descriptor(Whose whose) override {
    flush();
    return ForwardingFile::descriptor(whose);
  }
  void close() override { flushed().close(); }

 private:
  using Runs = std::map<int64_t, std::vector<std::byte>>;  // by offset; no two touch
  static int64_t end_of(const Runs::value_type& run) { return run.first + std::ssize(run.second); }
  Runs::iterator first_behind(int64_t offset);
  File& flushed() {
    flush();
    return inner();
  }

  Runs kept_;
  size_t bytes_ = 0;  // in kept_
};

}  // namespace sheaf
