// `defrag` of a file onto itself, which replaces the only copy of the data.
#include <gtest/gtest.h>

#include "multifile/tools/defrag.hpp"
#include "support/programs.hpp"
#include "support/stores/recording_store.hpp"

namespace sheaf::test::replaced_by_defrag_test {

using namespace multifile;

namespace {

WorkProgress quiet;

// The new file must be on disk before it gets the name.
TEST(Defrag, OfAFileOntoItselfIsOnDiskBeforeItGetsTheName) {
  MemoryStore memory;
  RecordingStore tape(memory);
  write_serially(tape, "a", small_program(1));
  const size_t before = tape.length();
  defrag(tape, load_multifile(tape, "a"), {.output = "a", .replace = true}, quiet);
  std::vector<std::string> done;
  for (size_t i = before; i < tape.length(); ++i) done.push_back(tape.describe(i));
  const auto renamed = std::ranges::find_if(done, [](const auto& s) { return s.starts_with("rename"); });
  ASSERT_NE(renamed, done.end());
  EXPECT_EQ(*(renamed - 1), "sync a.part");
}

}  // namespace
}  // namespace sheaf::test::replaced_by_defrag_test
