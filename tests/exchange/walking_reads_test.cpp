// Large reads that go on and on through the program's memory are filled from where the bytes lie, the first one and others are not.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/stream_copy.hpp"
#include "exchange/independent.hpp"
#include "storage/forwarding_file.hpp"
#include "storage/posix_store.hpp"

namespace sheaf::exchange::walking_reads_test {
namespace {

constexpr int64_t MiB = 1 << 20;

// A file that counts how it is read.
struct Counts {
  int read = 0;
  int mapped = 0;
};

class CountedFile final : public ForwardingFile {
 public:
  CountedFile(std::shared_ptr<File> file, Counts& counts) : ForwardingFile(std::move(file)), counts_(counts) {}
  size_t read_at(std::span<std::byte> data, int64_t offset) override {
    ++counts_.read;
    return inner().read_at(data, offset);
  }
  MappedRead map(int64_t offset, size_t length) override {
    ++counts_.mapped;
    return inner().map(offset, length);
  }

 private:
  Counts& counts_;
};

TEST(WalkingReads, AreMappedFromTheSecondOneOn) {
  const auto path = (std::filesystem::temp_directory_path() / ("sheaf-walked-" + std::to_string(::getpid()))).string();
  std::vector<std::byte> bytes(static_cast<size_t>(4 * MiB));
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 251);
  posix_store().open(path, sheaf::Access::fresh)->write_at(bytes, 0);
  const auto real = posix_store().open(path, sheaf::Access::read);
  std::filesystem::remove(path);
  if (!copies_past_caches() || !real->map(0, 1)) GTEST_SKIP() << "not on this machine or file system";
  for (const bool knows_where : {true, false}) {
    Counts counts;
    WalkedTo walked_to = nullptr;
    Alone how;
    how.walked_to = knows_where ? &walked_to : nullptr;
    CountedFile file(real, counts);
    const layout::TypeMap one = layout::TypeMap::bytes(1);
    std::vector<std::byte> back(bytes.size());
    Tally tally;
    for (int64_t at = 0; at < 4 * MiB; at += MiB) {
      Access access;
      access.filetype = access.memory = &one;
      access.from = at;
      access.to = at + MiB;
      access.address = back.data() + at;
      EXPECT_EQ(read_alone(file, access, how, tally), MiB);
    }
    EXPECT_EQ(back, bytes);
    EXPECT_EQ(counts.read, knows_where ? 1 : 4);
    EXPECT_EQ(counts.mapped, knows_where ? 3 : 0);
    EXPECT_EQ(tally.requests, 4);
    EXPECT_EQ(tally.file_bytes_read, 4 * MiB);
  }
}

}  // namespace
}  // namespace sheaf::exchange::walking_reads_test
