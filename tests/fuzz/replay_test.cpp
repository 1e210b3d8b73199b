// Runs the targets of the fuzzers on their seeds and on all of their findings.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "format/header.hpp"
#include "fuzz/reading.hpp"
#include "fuzz/targets.hpp"
#include "layout/chunk_layout.hpp"

namespace sheaf::fuzz {
namespace {

namespace fs = std::filesystem;

Bytes contents_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

class FuzzReplay : public ::testing::TestWithParam<FuzzTarget> {
 protected:
  // Runs the target on all inputs in a directory. Returns their number.
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

TEST_P(FuzzReplay, OfTheCorpus) { EXPECT_GT(replay(fs::path(SHEAF_FUZZ_CORPUS) / GetParam().corpus), 0); }

// Findings are stored below the name of the target that found them.
TEST_P(FuzzReplay, OfWhatWasFound) { replay(fs::path(SHEAF_FUZZ_FINDINGS) / GetParam().name); }

INSTANTIATE_TEST_SUITE_P(Targets, FuzzReplay, ::testing::ValuesIn(targets),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(PackedFiles, AreUnpackedAsTheyWerePacked) {
  PackedFiles files;
  files.options = 0x5c;
  files.files = {{Bytes(10, std::byte{1}), Bytes(3, std::byte{2}), int64_t{1} << 40},
                 {Bytes(2, std::byte{3}), {}, 2}};
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

// Returns a file of 2^62 bytes with two tasks. Nearly all of the file is a hole. The chunks of task 0 are
// empty, but each of its blocks claims all following bytes, so that its stream would have more than 2^63
// bytes.
PackedInputFile overlapping_exabytes() {
  constexpr int64_t blocks = 8;
  constexpr int64_t chunk = int64_t{1} << 59;
  format::Header h;
  h.fsblksize = 1;
  h.ntasks = 2;
  const int64_t begin = layout::data_start(2, 1);
  const format::Pointer p{blocks, begin + blocks * chunk};
  std::vector<int64_t> meta1{0, 1, 0, chunk}, meta2{blocks, 1};
  for (int64_t b = 0; b < blocks; ++b) meta2.insert(meta2.end(), {(blocks - b) * chunk, 0});
  const auto append = [](Bytes& to, const auto& from) {
    const auto bytes = std::as_bytes(std::span(from));
    to.insert(to.end(), bytes.begin(), bytes.end());
  };
  PackedInputFile f;
  append(f.head, format::encode(h));
  append(f.head, meta1);
  append(f.head, format::encode(p, native_order));
  append(f.tail, meta2);
  f.tail_at = p.varheader;
  return f;
}

TEST(PackedFiles, BlocksThatAddUpToMoreThanANumberHoldsAreDamage) {
  PackedFiles files;
  files.files = {overlapping_exabytes()};
  MemoryStore store;
  put_files(store, files);
  for (const ReadOutcome& outcome : {read_serially(store, {}), read_by_task(store, 2, {}),
                                     read_in_parallel(store, 2, {}), read_mapped(store, {})}) {
    ASSERT_TRUE(outcome.error);
    EXPECT_EQ(outcome.error->code(), Code::damaged) << outcome.error->what();
  }
  for (const FuzzTarget& target : targets) EXPECT_NO_THROW(target.run(pack(files))) << target.name;
}

}  // namespace
}  // namespace sheaf::fuzz
