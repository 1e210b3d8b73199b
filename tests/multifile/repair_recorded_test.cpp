// Repairs must keep recorded data, or report that it is missing.
#include <gtest/gtest.h>

#include "comm/comm.hpp"
#include "multifile/recover/repair.hpp"
#include "multifile/tools/verify.hpp"
#include "support/programs.hpp"
#include "support/stores/recording_store.hpp"

namespace sheaf::test::repair_recorded_test {

using namespace multifile;

namespace {

WorkProgress quiet;

// Leaves the files of a program that is killed while it uses the writer that `open` returns.
template <class Open>
void killed(MemoryStore& into, Open open) {
  MemoryStore memory(4096, 512);
  RecordingStore tape(memory);
  const std::unique_ptr<Writer> writer = open(tape);
  tape.replay(tape.length(), into);
}

std::unique_ptr<Writer> write_two(Store& store, int64_t bytes) {
  const std::vector<int64_t> sizes{4096, 4096}, ranks{0, 1};
  auto writer = std::make_unique<Writer>(store, SerialWriteRequest{"a", sizes, ranks, 4096}, mode_of("w", 0));
  for (int64_t t = 0; t < 2; ++t) {
    writer->select(t);
    writer->stream().write(content(t, 0, bytes));
  }
  writer->commit();
  return writer;
}

// The file is truncated, or lost with its host, while the journal still exists. A repair must fail.
TEST(Repair, RefusesAFileThatIsShorterThanItsJournalSays) {
  for (const char* const copy : {"", "copy"}) {
    MemoryStore store(4096, 512);
    killed(store, [](Store& tape) { return write_two(tape, 9000); });
    const int64_t size = store.status("a").size;
    store.open("a", Access::write)->resize(size - 100);
    const auto before = store.contents("a");
    EXPECT_EQ(code_of([&] { repair(store, "a", {.copy_to = copy}, quiet); }), Code::damaged);
    EXPECT_EQ(store.contents("a"), before);
    EXPECT_EQ(store.paths(), (std::vector<std::string>{"a", "a.journal"}));
    const RepairReport forced =
        repair(store, "a", {.copy_to = "forced", .replace = true, .accept_loss = true}, quiet);
    EXPECT_EQ(forced.files[0].data_bytes, 18000 - 100);
    EXPECT_TRUE(std::ranges::any_of(forced.files[0].unknown,
                                    [](const std::string& s) { return s.starts_with("100 bytes"); }));
    EXPECT_EQ(stream_of(store, "forced", 1), content(1, 0, 8900));
    store.remove("forced");
    // A repair must succeed as long as it finds all recorded data.
    store.open("a", Access::write)->resize(size);
    EXPECT_EQ(repair(store, "a", {.copy_to = copy}, quiet).files[0].data_bytes, 18000);
  }
}

std::unique_ptr<Writer> append_two(Store& store, int64_t before, int64_t bytes) {
  write_two(store, before)->close();
  auto writer = std::make_unique<Writer>(store, self_comm(), MappedAppendRequest{{"a", true, {}}, 0},
                                         mode_of("append", 0));
  for (int64_t t = 0; t < 2; ++t) {
    writer->select(t);
    writer->stream().write(content(t, before, bytes));
  }
  writer->commit();
  return writer;
}

// The file still has the block table of before the append, which records less than the journal. A repair must
// keep the flushed data.
TEST(Repair, OfAnAppendKeepsWhatWasFlushedWhereItFindsTheOldTable) {
  for (const bool gap : {false, true})
    for (const int64_t bytes : {10, 50, 96}) {
      MemoryStore store(4096, 512);
      killed(store, [&](Store& tape) { return append_two(tape, 4000, bytes); });
      if (gap) store.open("a.journal.gap", Access::create)->close();
      for (int64_t t = 0; t < 2; ++t) ASSERT_EQ(stream_of(store, "a", t), content(t, 0, 4000 + bytes));
      const RepairReport report = repair(store, "a", {.copy_to = "", .holes = !gap}, quiet);
      EXPECT_EQ(report.files[0].data_bytes, 2 * (4000 + bytes));
      for (int64_t t = 0; t < 2; ++t)
        EXPECT_EQ(stream_of(store, "a", t), content(t, 0, 4000 + bytes)) << bytes << (gap ? " gap" : "");
      EXPECT_TRUE(verify(store, "a", true, quiet).ok());
      EXPECT_EQ(store.paths(), std::vector<std::string>{"a"});
    }
}

}  // namespace
}  // namespace sheaf::test::repair_recorded_test
