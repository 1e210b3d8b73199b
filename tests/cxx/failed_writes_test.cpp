// Tests the C++ classes after a failed write. A close must report the failure, and a destructor must leave
// the file unclosed.
#include <gtest/gtest.h>

#include <filesystem>

#include "sheaf/multifile.hpp"
#include "sion_cxx_serial.hpp"
#include "support/largest_file.hpp"

namespace {

class CxxFailedWrites : public ::testing::Test {
 protected:
  void SetUp() override { sheaf_print_errors(0); }
  void TearDown() override {
    sheaf_print_errors(1);
    for (const char* const more : {"", ".journal", ".lease"}) std::filesystem::remove(path + more);
  }
  bool is_complete() const {
    try {
      sheaf::MultifileReader in(path);
    } catch (const sheaf::Error&) {
      return false;
    }
    return true;
  }
  const std::string path =
      std::filesystem::path(testing::TempDir()) / ("failed_" + std::to_string(getpid()) + ".sion");
  const std::vector<double> values = std::vector<double>(20'000, 1.25);
};

TEST_F(CxxFailedWrites, CloseThrows) {
  sheaf::test::LargestFile limit(50'000);
  sheaf::MultifileWriter out(path, {{.chunk_size = 1000}}, 512, "journal=off");
  EXPECT_THROW(out.write(values), sheaf::Error);
  limit.lift();
  EXPECT_THROW(out.close(), sheaf::Error);
  EXPECT_FALSE(is_complete());
}

TEST_F(CxxFailedWrites, TheDestructorLeavesTheFileUnclosed) {
  sheaf::test::LargestFile limit(50'000);
  EXPECT_THROW(
      {
        sheaf::MultifileWriter out(path, {{.chunk_size = 1000}}, 512, "journal=off");
        out.write(values);
      },
      sheaf::Error);
  limit.lift();
  EXPECT_FALSE(is_complete());
}

TEST_F(CxxFailedWrites, ARepeatedWriteCloses) {
  sheaf::test::LargestFile limit(50'000);
  sheaf::MultifileWriter out(path, {{.chunk_size = 1000}}, 512);
  EXPECT_THROW(out.write(values), sheaf::Error);
  limit.lift();
  out.write(values);
  out.close();
  EXPECT_EQ(sheaf::MultifileReader(path).rest<double>(), values);
}

TEST_F(CxxFailedWrites, CloseOfTheClassesOfTheOriginalReturnsIt) {
  sheaf::test::LargestFile limit(50'000);
  sion_int64 chunks[] = {1000};
  int ranks[] = {0};
  sionlib::serial::SIONFile out(path, "wb,journal=off");
  out.setChunkSizes(chunks);
  out.setGlobalRanks(ranks);
  out.open();
  out.write(values, static_cast<int>(sizeof(double)), static_cast<int>(values.size()));
  EXPECT_EQ(out.getReturnCode(), 0);
  limit.lift();
  out.close();
  EXPECT_EQ(out.getReturnCode(), 0);
  EXPECT_FALSE(is_complete());
}

}  // namespace
