// collective/merged_file: what the members of a group write in one call of merge mode, as a file: their
// pieces one behind the other. Written from the beginning to the end, it goes into the collector's stream.
// Only written.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "storage/store.hpp"
#include "stream/write_stream.hpp"

namespace sheaf {

class MergedFile final : public File {
 public:
  // `sizes` of the pieces; a piece that fits a chunk is kept in one. Both outlive the object.
  MergedFile(WriteStream& stream, std::span<const int64_t> sizes);

  void write_at(std::span<const std::byte> data, int64_t offset) override;

  size_t read_at(std::span<std::byte>, int64_t) override { refuse(); }
  FileStatus status() override { refuse(); }
  void resize(int64_t) override { refuse(); }
  void sync() override { refuse(); }
  int64_t next(Space, int64_t) override { refuse(); }
  const std::string& path() const override { return stream_.file().path(); }
  void close() override {}

 private:
  [[noreturn]] static void refuse();

  WriteStream& stream_;
  std::vector<int64_t> begins_;  // of the pieces, and the end of the last one
};

}  // namespace sheaf
