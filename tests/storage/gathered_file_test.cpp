// Small writes that are combined. The program must observe the same behaviour, with few requests.
#include "storage/decorators/gathered_file.hpp"

#include <random>

#include "storage/constants.hpp"
#include "support/stores/faulty_store.hpp"
#include "support/stores/memory_store.hpp"
#include "support/stores/recording_store.hpp"
#include "testing.hpp"

namespace sheaf::testing::gathered_file_test {
namespace {

using storage_constants::max_gathered;

TEST(GatheredFile, NeighboursGoOutInOneRequest) {
  MemoryStore memory;
  RecordingStore recorded(memory);
  GatheredFile file(recorded.open("a", Access::fresh));
  file.write_at(bytes("ef"), 4);
  file.write_at(bytes("ab"), 0);
  file.write_at(bytes("cd"), 2);
  file.write_at(bytes("xy"), 100);
  file.write_at(bytes("E"), 4);
  EXPECT_EQ(recorded.length(), 1u) << "the creation";
  EXPECT_EQ(read_text(file, 1, 4), "bcdE");
  EXPECT_EQ(file.status().size, 102);
  file.flush();
  EXPECT_EQ(recorded.length(), 3u);
  EXPECT_EQ(read_text(*memory.open("a", Access::read), 0, 6), "abcdEf");
  file.flush();
  EXPECT_EQ(recorded.length(), 3u);
}

TEST(GatheredFile, LargeWritesPassByBehindWhatIsKept) {
  MemoryStore memory;
  RecordingStore recorded(memory);
  GatheredFile file(recorded.open("a", Access::fresh));
  file.write_at(bytes("small"), 3);
  file.write_at(bytes(std::string(max_gathered + 1, 'x')), 0);
  EXPECT_EQ(recorded.length(), 3u);
  EXPECT_EQ(read_text(*memory.open("a", Access::read), 0, 10), "xxxxxxxxxx");
}

TEST(GatheredFile, IsLikeTheFileItself) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto below = [&](uint64_t n) { return static_cast<int64_t>(random() % n); };
    MemoryStore memory;
    const auto plain = memory.open("plain", Access::fresh);
    const auto under = memory.open("gathered", Access::fresh);
    GatheredFile file(under);
    const int64_t place = seed % 10 == 0 ? 3 * int64_t{max_gathered} : 200;
    for (int step = 0; step < 60; ++step) {
      const int64_t at = below(static_cast<uint64_t>(place)),
                    length = below(seed % 10 == 0 ? max_gathered * 3 / 2 : 40);
      switch (below(8)) {
        case 0:
          ASSERT_EQ(read_text(file, at, length), read_text(*plain, at, length));
          break;
        case 1:
          ASSERT_EQ(file.status().size, plain->status().size);
          break;
        case 2:
          file.flush();
          ASSERT_EQ(read_text(*under, 0, 1 << 21), read_text(*plain, 0, 1 << 21));
          break;
        case 3:
          if (below(4) > 0) break;
          file.resize(at);
          plain->resize(at);
          break;
        default: {
          const std::string text(static_cast<size_t>(length), static_cast<char>('a' + below(26)));
          file.write_at(bytes(text), at);
          plain->write_at(bytes(text), at);
        }
      }
    }
    file.sync();
    ASSERT_EQ(read_text(*under, 0, 1 << 21), read_text(*plain, 0, 1 << 21));
  }
}

TEST(GatheredFile, KeepsWhatCouldNotBeWritten) {
  MemoryStore memory;
  FaultPlan plan;
  plan.fail_at = 1;  // fails the operation after the open
  FaultyStore faulty(memory, plan);
  GatheredFile file(faulty.open("a", Access::fresh));
  file.write_at(bytes("kept"), 0);
  EXPECT_THROW(file.flush(), Error);
  file.flush();
  EXPECT_EQ(read_text(*memory.open("a", Access::read), 0, 4), "kept");
}

}  // namespace
}  // namespace sheaf::testing::gathered_file_test
