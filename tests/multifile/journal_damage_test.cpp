// Journals with damaged bytes. Readers must find flushed data, or report that they cannot determine it.
#include <gtest/gtest.h>

#include <random>

#include "base/warnings.hpp"
#include "comm/agree.hpp"
#include "multifile/reader/reader.hpp"
#include "multifile/recover/repair.hpp"
#include "multifile/tools/verify.hpp"
#include "multifile/writer/writer.hpp"
#include "support/programs.hpp"

namespace sheaf::test::journal_damage_test {

using namespace multifile;

namespace {

constexpr int64_t tasks = 3;
constexpr int64_t chunk = 100;

// Three tasks with several chunks; some slots have one record, others two.
class JournalFileDamage : public ::testing::Test {
 protected:
  JournalFileDamage() {
    const std::vector<int64_t> sizes(tasks, chunk), ranks{0, 1, 2};
    Writer writer(store_, SerialWriteRequest{"a", sizes, ranks, 1}, mode_of("w", 0));
    for (int call = 0; call < 5; ++call)
      for (int64_t t = 0; t < tasks; ++t) {
        writer.select(t);
        int64_t& at = flushed_[static_cast<size_t>(t)];
        const int64_t bytes = 20 + 17 * t + 5 * call;
        writer.stream().write(content(t, at, bytes));
        at += bytes;
        writer.commit();
      }
    journal_ = store_.contents("a.journal");
    take_warnings();
  }
  ~JournalFileDamage() override { take_warnings(); }

  std::vector<std::byte> read(int64_t task, const std::string& words = "r") {
    Reader reader(store_, "a", task, mode_of(words));
    std::vector<std::byte> bytes(4096);
    bytes.resize(reader.stream().read(bytes));
    return bytes;
  }
  // Returns whether a reader finds all flushed data of `task`. Any data that it finds must be correct.
  bool has_all(int64_t task, const std::string& words = "r") {
    const auto found = read(task, words);
    EXPECT_EQ(found, content(task, 0, std::ssize(found)));
    return std::ssize(found) == flushed_[static_cast<size_t>(task)];
  }
  void damage(const std::function<void(std::vector<std::byte>&)>& change) {
    auto bytes = journal_;
    change(bytes);
    store_.set_contents("a.journal", bytes);
  }

  MemoryStore store_{4096, 512};
  std::array<int64_t, tasks> flushed_{};
  std::vector<std::byte> journal_;
  WorkProgress quiet_;
};

TEST_F(JournalFileDamage, OfAnyBitNeverShortensAStream) {
  for (size_t bit = 0; bit < 8 * journal_.size(); ++bit) {
    damage([&](auto& bytes) { bytes[bit / 8] ^= std::byte{static_cast<unsigned char>(1U << (bit % 8))}; });
    for (int64_t t = 0; t < tasks; ++t) ASSERT_TRUE(has_all(t)) << "bit " << bit << " task " << t;
  }
}

TEST_F(JournalFileDamage, OfSomeBytesNeverShortensAStreamSilently) {
  std::mt19937 random(17);
  int refused = 0;
  for (size_t at = format::journal_header_size; at + 4 <= journal_.size(); at += 3) {
    const size_t length = 2 + random() % 11;
    damage([&](auto& bytes) {
      for (size_t i = at; i < std::min(at + length, bytes.size()); ++i)
        bytes[i] ^= std::byte{static_cast<unsigned char>(1 + random() % 255)};
    });
    for (int64_t t = 0; t < tasks; ++t) {
      bool all = true;
      const auto problem = attempt([&] { all = has_all(t); });
      if (problem) {
        ++refused;
        EXPECT_EQ(problem->code(), Code::damaged) << problem->what();
        attempt([&] { has_all(t, "r,checksums=off"); });
      }
      ASSERT_TRUE(problem || all) << "at " << at << " task " << t;
    }
  }
  EXPECT_GT(refused, 20);
}

// Destroys both records of task 1 in round 0.
void destroy_a_record(std::vector<std::byte>& bytes) {
  const auto at = static_cast<size_t>(format::slot_offset(1));
  for (size_t i = 0; i < format::journal_slot_size; i += 9) bytes[at + i] ^= std::byte{0xff};
}

TEST_F(JournalFileDamage, RefusesTheTaskAloneAndReadsTheOthers) {
  damage(destroy_a_record);
  EXPECT_TRUE(has_all(0));
  EXPECT_TRUE(has_all(2));
  const auto problem = attempt([&] { read(1); });
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->code(), Code::damaged);
  EXPECT_NE(std::string(problem->what()).find("local task 1"), std::string::npos) << problem->what();
  EXPECT_NO_THROW(read(1, "r,checksums=off"));
}

TEST_F(JournalFileDamage, IsToldByReadersAndVerify) {
  damage([](auto& bytes) { bytes[format::journal_header_size + 64 + 5] ^= std::byte{8}; });
  read(0);
  const auto told = take_warnings();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].find("corrected"), std::string::npos) << told[0];
  const auto damaged_findings = [&] {
    const VerifyReport report = verify(store_, "a", false, quiet_);
    return std::ranges::count(report.files.front().findings, FileState::damaged, &Finding::state);
  };
  EXPECT_GT(damaged_findings(), 0);
  damage(destroy_a_record);
  EXPECT_GT(damaged_findings(), 0);
  damage([](auto& bytes) { bytes[20] ^= std::byte{8}; });
  EXPECT_GT(damaged_findings(), 0);
  damage([](auto&) {});
  EXPECT_EQ(damaged_findings(), 0);
}

TEST_F(JournalFileDamage, IsRepairedByForceAlone) {
  damage(destroy_a_record);
  EXPECT_EQ(code_of([&] { repair(store_, "a", {}, quiet_); }), Code::damaged);
  RepairRequest request;
  request.accept_loss = true;
  const RepairReport report = repair(store_, "a", request, quiet_);
  EXPECT_TRUE(report.files.front().guessed);
  EXPECT_TRUE(has_all(0));
  EXPECT_TRUE(has_all(2));
  EXPECT_TRUE(MetadataReader(*store_.open("a", Access::read)).extension()->guessed());
}

// Readers must ignore records of an earlier file with the same name, and must not report them as damage.
TEST_F(JournalFileDamage, IsNotSeenInWhatAnEarlierFileHasLeft) {
  store_.remove("a");
  const std::vector<int64_t> sizes(tasks, chunk), ranks{0, 1, 2};
  Writer writer(store_, SerialWriteRequest{"a", sizes, ranks, 1}, mode_of("w", 0));
  writer.select(1);
  writer.stream().write(content(1, 0, 30));
  writer.commit();
  take_warnings();
  flushed_ = {0, 30, 0};
  for (int64_t t = 0; t < tasks; ++t) EXPECT_TRUE(has_all(t));
  for (const std::string& told : take_warnings()) EXPECT_EQ(told.find("damaged"), std::string::npos) << told;
}

}  // namespace
}  // namespace sheaf::test::journal_damage_test
