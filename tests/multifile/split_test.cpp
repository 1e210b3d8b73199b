// `split` creates its files all together or not at all.
#include <gtest/gtest.h>

#include "multifile/tools/split.hpp"
#include "support/programs.hpp"
#include "support/stores/faulty_store.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::test::split_test {

using namespace multifile;

namespace {

WorkProgress quiet;

SplitRequest three_files(bool replace) {
  return {.prefix = "out.", .digits = 1, .tasks = {0, 1, 2}, .replace = replace};
}

std::vector<std::string> outputs_in(MemoryStore& store) {
  std::vector<std::string> found;
  for (const char* const name : {"out.0", "out.1", "out.2", "out.0.part", "out.1.part", "out.2.part"})
    if (store.status(name).exists) found.emplace_back(name);
  return found;
}

TEST(Split, LeavesNothingIfARenameFails) {
  MemoryStore memory;
  write_serially(memory, "a", small_program(1));
  for (int64_t failing = 0; failing < 3; ++failing) {
    FaultyStore store(memory, {.fail_at = failing, .kind = StoreOperation::rename, .path_contains = "out"});
    EXPECT_THROW(split(store, load_multifile(store, "a"), three_files(false), quiet), Error);
    EXPECT_EQ(outputs_in(memory), std::vector<std::string>{});
  }
  split(memory, load_multifile(memory, "a"), three_files(false), quiet);
  EXPECT_EQ(outputs_in(memory), (std::vector<std::string>{"out.0", "out.1", "out.2"}));
}

// If a rename fails, a file that an earlier rename has replaced stays, because its old contents are lost.
TEST(Split, ThatReplacesFilesKeepsThemIfARenameFails) {
  MemoryStore memory;
  write_serially(memory, "a", small_program(1));
  memory.open("out.0", Access::create)->close();
  FaultyStore store(memory, {.fail_at = 2, .kind = StoreOperation::rename, .path_contains = "out"});
  EXPECT_THROW(split(store, load_multifile(store, "a"), three_files(true), quiet), Error);
  EXPECT_EQ(outputs_in(memory), std::vector<std::string>{"out.0"});
}

}  // namespace
}  // namespace sheaf::test::split_test
