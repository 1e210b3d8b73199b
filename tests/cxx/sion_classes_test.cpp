// Tests the classes of SIONlib for serial programs.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>

#include "sheaf.h"
#include "sion_cxx.h"
#include "sion_cxx_omp.hpp"
#include "sion_cxx_ompi.hpp"
#include "sion_cxx_serial.hpp"

namespace {

using sionlib::serial::SIONFile;

class SionClasses : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path); }
  const std::string path =
      std::filesystem::path(testing::TempDir()) / ("cls_" + std::to_string(getpid()) + ".sion");
};

TEST_F(SionClasses, RememberWhatIsSet) {
  SIONFile file("name");
  EXPECT_STREQ(file.getSionFileName(), "name");
  EXPECT_EQ(file.getMode(), "wb");
  EXPECT_EQ(file.getSid(), -9999);
  EXPECT_EQ(file.getNumberOfTasks(), 1);
  file.setMode("rb");
  file.setNumberOfFiles(3);
  file.setNumberOfTasks(4);
  file.setRank(2);
  file.setChunkSize(99);
  file.setFileSystemBlockSize(512);
  EXPECT_EQ(file.getMode(), "rb");
  EXPECT_EQ(file.getNumberOfFiles(), 3);
  EXPECT_EQ(file.getNumberOfTasks(), 4);
  EXPECT_EQ(file.getRank(), 2);
  EXPECT_EQ(file.getChunkSize(), 99);
  EXPECT_EQ(file.getFileSystemBlockSize(), 512);
  const SIONFile copy(file);
  EXPECT_EQ(copy.getSionFileName(), nullptr);
}

TEST_F(SionClasses, WriteAndReadOneTask) {
  sion_int64 chunks[] = {16};
  int ranks[] = {5};
  SIONFile out(path, "wb");
  out.setChunkSizes(chunks);
  out.setGlobalRanks(ranks);
  out.setFileSystemBlockSize(512);
  out.open();
  ASSERT_GE(out.getSid(), 0);
  EXPECT_EQ(out.getReturnCode(), out.getSid());
  out << 1 << 2.5;
  EXPECT_EQ(out.getBytesWritten(), 12);
  out.write(std::array<int, 3>{7, 8, 9}, sizeof(int), 3);
  EXPECT_EQ(out.getReturnCode(), 3);
  char whole_chunk[16] = "sixteen bytes..";
  out.write(whole_chunk);
  EXPECT_EQ(out.getReturnCode(), 16);
  out.write('x');
  EXPECT_EQ(out.getReturnCode(), 1);
  EXPECT_EQ(out.close(), SION_SUCCESS);

  SIONFile in(path, "rb");
  in.open();
  ASSERT_GE(in.getSid(), 0);
  EXPECT_EQ(in.getGlobalRanks()[0], 5);
  EXPECT_EQ(in.getBytesAvailInBlock(), 12 + 12 + 16 + 1);
  int one = 0;
  double two = 0;
  in.read(&one);
  EXPECT_EQ(in.getReturnCode(), static_cast<int>(sizeof one));
  in.read(&two);
  EXPECT_EQ(one, 1);
  EXPECT_EQ(two, 2.5);
  int three[3] = {};
  in.read(three, sizeof(int), 3);
  EXPECT_EQ(in.getNumberOfSuccessfulReadElements(), 3);
  EXPECT_EQ(three[2], 9);
  EXPECT_EQ(in.getBytesRead(), 24);
  EXPECT_EQ(in.getPosition(), sion_get_position(in.getSid()));
  EXPECT_GT(in.getPosition(), 24);
  EXPECT_EQ(in.getFileEndianness(), sion_get_endianness());
  in.seek();
  EXPECT_EQ(in.getReturnCode(), SION_SUCCESS);
  EXPECT_EQ(in.getBytesAvailInChunk(), 17);
  EXPECT_EQ(in.close(), SION_SUCCESS);
  std::free(in.getChunkSizes());
  std::free(in.getGlobalRanks());
}

TEST_F(SionClasses, OpenOneRank) {
  sion_int64 chunks[] = {100, 100};
  int ranks[] = {0, 1};
  SIONFile out(path, "wb", 2);
  out.setChunkSizes(chunks);
  out.setGlobalRanks(ranks);
  out.open();
  sion_seek(out.getSid(), 1, SION_CURRENT_BLK, SION_CURRENT_POS);
  out << 11;
  out.close();
  SIONFile in(path, "rb");
  in.setRank(1);
  in.openRank();
  int value = 0;
  in.read(&value);
  EXPECT_EQ(value, 11);
  in.close();
  sheaf_print_errors(0);
  SIONFile("/nonexistent/file", "rb").open();
  sheaf_print_errors(1);
}

}  // namespace
