// The seeds of the fuzzers and all that they have found wrong, run through the same functions.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "fuzz/packed_files.hpp"
#include "fuzz/targets.hpp"

namespace sheaf::fuzz {
namespace {

namespace fs = std::filesystem;

Bytes contents_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

class Replay : public ::testing::TestWithParam<Target> {
 protected:
  // Returns the number of inputs.
  int replay(const fs::path& directory) {
    int count = 0;
    if (!fs::exists(directory)) return count;
    for (const auto& entry : fs::directory_iterator(directory)) {
      ++count;
      SCOPED_TRACE(entry.path().string());
      try {
        GetParam().run(contents_of(entry.path()));
      } catch (const Contradiction& c) {
        ADD_FAILURE() << c.what;
      }
    }
    return count;
  }
};

TEST_P(Replay, OfTheCorpus) { EXPECT_GT(replay(fs::path(SHEAF_FUZZ_CORPUS) / GetParam().corpus), 0); }

// Findings are kept below the name of the target that found them.
TEST_P(Replay, OfWhatWasFound) { replay(fs::path(SHEAF_FUZZ_FINDINGS) / GetParam().name); }

INSTANTIATE_TEST_SUITE_P(Targets, Replay, ::testing::ValuesIn(targets),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(PackedFiles, AreUnpackedAsTheyWerePacked) {
  PackedFiles files;
  files.options = 0x5c;
  files.files = {{Bytes(10, std::byte{1}), Bytes(3, std::byte{2}), int64_t{1} << 40}, {Bytes(2, std::byte{3}), {}, 2}};
  const PackedFiles again = unpack(pack(files));
  ASSERT_EQ(again.files.size(), 2u);
  EXPECT_EQ(again.options, files.options);
  for (size_t k = 0; k < 2; ++k) {
    EXPECT_EQ(again.files[k].head, files.files[k].head);
    EXPECT_EQ(again.files[k].tail, files.files[k].tail);
    EXPECT_EQ(again.files[k].tail_at, files.files[k].tail_at);
  }
  MemoryStore store;
  put_files(store, again);
  EXPECT_EQ(store.status("m").size, (int64_t{1} << 40) + 3);
  EXPECT_EQ(store.status("m.000001").size, 2);
}

}  // namespace
}  // namespace sheaf::fuzz
