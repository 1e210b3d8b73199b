// Copies of multifiles that a job is still writing.
#include <gtest/gtest.h>

#include "multifile/recover/repair.hpp"
#include "support/programs.hpp"

namespace sheaf::test::repair_living_test {

using namespace multifile;

namespace {

// Calls `act` when the copying of data begins, and again after some data has been copied.
class Meanwhile final : public WorkProgress {
 public:
  explicit Meanwhile(std::function<void()> act) : act_(std::move(act)) {}
  void begin(int64_t) override { act_(); }
  void advance(int64_t) override { act_(); }

 private:
  std::function<void()> act_;
};

// Data is flushed after the repair has read the journal and before it copies the data. The copy must hold all
// of that data or none of it.
TEST(RepairCopy, HoldsNothingThatWasNotCopied) {
  MemoryStore store(4096, 512);
  const std::vector<int64_t> sizes{256 << 10, 256 << 10}, ranks{0, 1};
  Writer writer(store, {"a", sizes, ranks, 4096}, mode_of("w", 0));
  std::vector<int64_t> written(2);
  const auto go_on = [&] {
    for (int64_t t = 0; t < 2; ++t) {
      auto& before = written[static_cast<size_t>(t)];
      writer.select(t);
      writer.stream().write(content(t, before, 3000));
      before += 3000;
      writer.commit();
    }
  };
  go_on();
  for (int copies = 0; copies < 3; ++copies) {
    const std::vector<int64_t> least = written;
    Meanwhile progress(go_on);
    repair(store, "a", {.copy_to = "copy", .replace = true}, progress);
    for (int64_t t = 0; t < 2; ++t) {
      const auto found = stream_of(store, "copy", t);
      EXPECT_GE(std::ssize(found), least[static_cast<size_t>(t)]);
      EXPECT_EQ(found, content(t, 0, std::ssize(found))) << "copy " << copies << ", task " << t;
    }
  }
  writer.close();
}

}  // namespace
}  // namespace sheaf::test::repair_living_test
