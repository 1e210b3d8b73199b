// Any prefix of the recorded changes can be rebuilt, with and without the loss of unsynced changes.
#include "support/stores/recording_store.hpp"

#include <map>
#include <set>

#include "testing.hpp"

namespace sheaf::testing::recording_store_test {
namespace {

using State = std::map<std::string, std::string>;

State state_of(const MemoryStore& store) {
  State state;
  for (const auto& path : store.paths()) state[path] = text(store.contents(path));
  return state;
}

class RecordingStoreTest : public ::testing::Test {
 protected:
  State after(size_t prefix) const {
    MemoryStore rebuilt;
    store.replay(prefix, rebuilt);
    return state_of(rebuilt);
  }
  State after_power_loss(uint64_t seed) const {
    MemoryStore rebuilt;
    store.replay_losing_unsynced(store.length(), seed, rebuilt);
    return state_of(rebuilt);
  }
  // Returns every state that some seed leaves of all changes.
  std::set<State> outcomes() const {
    std::set<State> all;
    for (uint64_t seed = 0; seed < 300; ++seed) all.insert(after_power_loss(seed));
    return all;
  }

  MemoryStore memory;
  RecordingStore store{memory};
};

TEST_F(RecordingStoreTest, EveryPrefixCanBeRebuilt) {
  memory.set_contents("old", bytes("was here"));
  std::vector<State> states{state_of(memory)};
  const auto note = [&] {
    states.push_back(state_of(memory));
    EXPECT_EQ(store.length(), states.size() - 1);
  };
  const auto file = store.open("a", Access::fresh);
  note();
  file->write_at(bytes("0123456789"), 3);
  note();
  file->write_at(bytes("xx"), 4);
  note();
  const auto old = store.open("old", Access::write);
  old->write_at(bytes("is"), 0);
  note();
  file->resize(6);
  note();
  file->sync();
  note();
  store.rename("a", "old");
  note();
  file->write_at(bytes("after the rename"), 1);
  note();
  store.open("old", Access::write)->write_at(bytes("by the new name"), 5);
  note();
  old->write_at(bytes("replaced"), 0);
  note();
  store.remove("old");
  note();
  store.open("old", Access::create)->write_at(bytes("new"), 0);
  EXPECT_EQ(store.length(), states.size() + 1);
  for (size_t i = 0; i < states.size(); ++i) EXPECT_EQ(after(i), states[i]) << i;
  EXPECT_EQ(after(store.length()), state_of(memory));
  EXPECT_EQ(store.describe(1), "write 10 bytes at 3 of a");
  EXPECT_EQ(store.describe(6), "rename a to old");
}

TEST_F(RecordingStoreTest, ReadingAndFailedCallsAreNoChanges) {
  memory.set_contents("a", bytes("abc"));
  const auto file = store.open("a", Access::read);
  read_text(*file, 0, 9);
  file->status();
  EXPECT_THROW(file->write_at(bytes("x"), 0), Error);
  EXPECT_THROW(file->resize(0), Error);
  EXPECT_THROW(store.remove("none"), Error);
  EXPECT_THROW(store.rename("none", "a"), Error);
  EXPECT_THROW(store.open("a", Access::fresh), Error);
  file->close();
  EXPECT_EQ(store.length(), 0u);
  EXPECT_EQ(after(0), state_of(memory));
}

TEST_F(RecordingStoreTest, SparseFilesStaySparse) {
  const int64_t far = int64_t{1} << 40;
  memory.open("a", Access::fresh)->write_at(bytes("x"), far);
  store.open("a", Access::write)->write_at(bytes("y"), 2 * far);
  MemoryStore rebuilt;
  store.replay(1, rebuilt);
  EXPECT_LE(rebuilt.allocated(), 3 * 4096);
  EXPECT_EQ(read_text(*rebuilt.open("a", Access::read), far, 1), "x");
  EXPECT_EQ(read_text(*rebuilt.open("a", Access::read), 2 * far, 1), "y");
}

TEST_F(RecordingStoreTest, CopiesAreRecordedAsWrites) {
  const auto from = store.open("from", Access::fresh);
  from->write_at(bytes("abc"), 0);
  copy_range(*from, *store.open("to", Access::fresh), 0, 1, 3);
  EXPECT_EQ(after(store.length()), state_of(memory));
}

TEST_F(RecordingStoreTest, SyncedBytesSurviveAPowerLoss) {
  const auto file = store.open("a", Access::fresh);
  file->write_at(pattern(5000), 0);
  file->resize(4000);
  file->sync();
  for (const auto& state : outcomes()) EXPECT_EQ(state.at("a"), text(pattern(4000)));
}

TEST_F(RecordingStoreTest, UnsyncedWritesSurviveInAnySubset) {
  memory.set_contents("a", bytes("..."));
  const auto file = store.open("a", Access::write);
  file->write_at(bytes("x"), 0);
  file->write_at(bytes("y"), 1);
  file->write_at(bytes("z"), 2);
  std::set<std::string> left;
  for (const auto& state : outcomes()) left.insert(state.at("a"));
  EXPECT_EQ(left, (std::set<std::string>{"...", "x..", ".y.", "..z", "xy.", "x.z", ".yz", "xyz"}));
}

TEST_F(RecordingStoreTest, UnsyncedWritesTearAtSectorsAndMayOnlyGrowTheFile) {
  memory.set_contents("a", {});
  store.open("a", Access::write)->write_at(Bytes(1024, std::byte{'x'}), 0);
  const std::string x(512, 'x');
  const std::string zero(512, '\0');
  std::set<std::string> left;
  for (const auto& state : outcomes()) left.insert(state.at("a"));
  EXPECT_EQ(left, (std::set<std::string>{"", x, zero, zero + x, x + x, x + zero, zero + zero}));
}

TEST_F(RecordingStoreTest, SyncOfOneFileDoesNotSaveTheBytesOfAnother) {
  memory.set_contents("a", bytes("a"));
  const auto b = store.open("b", Access::fresh);
  store.open("a", Access::write)->write_at(bytes("A"), 0);
  b->sync();
  EXPECT_EQ(outcomes(), (std::set<State>{{{"a", "a"}, {"b", ""}}, {{"a", "A"}, {"b", ""}}}));
}

TEST_F(RecordingStoreTest, NamesAreLostFromTheEndUpToASync) {
  const auto a = store.open("a", Access::fresh);
  a->sync();
  store.open("b", Access::fresh);
  store.rename("a", "c");
  store.remove("c");
  EXPECT_EQ(outcomes(),
            (std::set<State>{{{"a", ""}}, {{"a", ""}, {"b", ""}}, {{"b", ""}, {"c", ""}}, {{"b", ""}}}));
}

TEST_F(RecordingStoreTest, EqualSeedsGiveEqualStates) {
  store.open("a", Access::fresh)->write_at(pattern(100'000), 0);
  for (uint64_t seed = 0; seed < 20; ++seed) EXPECT_EQ(after_power_loss(seed), after_power_loss(seed));
}

}  // namespace
}  // namespace sheaf::testing::recording_store_test
