// Tests sheaf::MultifileWriter and the classes that read its files, in serial programs.
#include "sheaf/multifile.hpp"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>

namespace {

class CxxMultifile : public ::testing::Test {
 protected:
  void SetUp() override { sheaf_print_errors(0); }
  void TearDown() override {
    sheaf_print_errors(1);
    std::filesystem::remove(path);
  }
  const std::string path =
      std::filesystem::path(testing::TempDir()) / ("cxx_" + std::to_string(getpid()) + ".sion");
};

TEST_F(CxxMultifile, KeepsWhatEveryTaskWrote) {
  const std::vector<double> values{1.5, 2.5, -3.5};
  {
    sheaf::MultifileWriter out(path, {{.chunk_size = 100}, {.chunk_size = 50, .global_rank = 7}}, 512);
    EXPECT_EQ(out.tasks(), 2);
    out.select(1);
    out.write(values);
    out.select(0);
    out.write(42);
    out.write("text");
    EXPECT_EQ(out.bytes_written(), 8);
    out.close();
    EXPECT_FALSE(out.is_open());
    out.close();
  }
  sheaf::MultifileReader in(path);
  ASSERT_EQ(in.tasks(), 2);
  EXPECT_EQ(in.files(), 1);
  EXPECT_EQ(in.block_size(), 512);
  EXPECT_EQ(in.task(1).global_rank, 7);
  EXPECT_EQ(in.get<int>(), 42);
  std::array<char, 10> text{};
  EXPECT_EQ(in.read(std::span(text)), 4u);
  EXPECT_STREQ(text.data(), "text");
  EXPECT_TRUE(in.at_end());
  in.select(1);
  EXPECT_EQ(in.rest<double>(), values);
  in.seek(8);
  EXPECT_EQ(in.tell(), 8);
  EXPECT_EQ(in.get<double>(), 2.5);
}

TEST_F(CxxMultifile, CompressesWhereTheWordsSaySo) {
  const std::vector<double> values(20'000, 1.25);
  for (const char* const words :
       {"compress=zstd", "compress=zstd:3,shuffle=8,frame=4k", "compress=lz4,frame=1k,compress_threads=0"}) {
    {
      sheaf::MultifileWriter out(path, {{.chunk_size = 50'000}, {.chunk_size = 50'000}}, 512, words);
      for (const int task : {1, 0}) {
        out.select(task);
        out.write(task);
        out.write(values);
      }
      out.close();
    }
    EXPECT_LT(std::filesystem::file_size(path), 150'000u) << words;
    sheaf::MultifileReader in(path);
    for (const int task : {0, 1}) {
      in.select(task);
      EXPECT_EQ(in.get<int>(), task);
      EXPECT_EQ(in.rest<double>(), values) << words;
    }
  }
}

TEST_F(CxxMultifile, ReadsAllBlocksOfATask) {
  std::vector<int> numbers;
  {
    sheaf::MultifileWriter out(path, {{.chunk_size = 64}}, 64);
    for (int i = 0; i < 1000; ++i) {
      out.write(i);
      numbers.push_back(i);
    }
  }
  sheaf::TaskReader in(path, 0);
  EXPECT_EQ(in.chunk_size(), 64);
  EXPECT_EQ(in.rest<int>(), numbers);
  EXPECT_TRUE(in.rest().empty());
}

TEST_F(CxxMultifile, GivesBackARecordThatIsCutOff) {
  {
    sheaf::MultifileWriter out(path, {{.chunk_size = 64}}, 64);
    out.write(std::vector<char>(11));
  }
  sheaf::MultifileReader in(path);
  EXPECT_EQ(in.rest<int>().size(), 2u);
  EXPECT_EQ(in.rest<char>().size(), 3u);
  EXPECT_THROW(in.get<int>(), sheaf::Error);
}

TEST_F(CxxMultifile, ThrowsWhatTheLibrarySays) {
  try {
    sheaf::MultifileReader in("/nonexistent/file.sion");
    FAIL();
  } catch (const sheaf::Error& e) {
    EXPECT_NE(std::string(e.what()).find("/nonexistent/file.sion"), std::string::npos) << e.what();
  }
  EXPECT_THROW(sheaf::MultifileWriter(path, {{.chunk_size = -1}}), sheaf::Error);
  EXPECT_THROW(sheaf::MultifileWriter(path, {{.chunk_size = 1}}, 512, "strict,unheard-of"), sheaf::Error);
  sheaf::MultifileWriter out(path, {{.chunk_size = 10}}, 512);
  EXPECT_THROW(out.select(1), sheaf::Error);
  EXPECT_THROW(out.ensure_free_space(1000), sheaf::Error);
  out.close();
  EXPECT_THROW(out.write(1), sheaf::Error);
  EXPECT_THROW(sheaf::TaskReader(path, 1), sheaf::Error);
}

TEST_F(CxxMultifile, MovesWithItsHandle) {
  sheaf::MultifileWriter first(path, {{.chunk_size = 10}}, 512);
  const int handle = first.handle();
  sheaf::MultifileWriter second(std::move(first));
  EXPECT_EQ(second.handle(), handle);
  second.write(1);
  second.close();
  sheaf::MultifileReader in(path);
  in = sheaf::MultifileReader(path);
  EXPECT_EQ(in.get<int>(), 1);
}

TEST_F(CxxMultifile, ClosesASerialFileWhenAnExceptionPasses) {
  try {
    sheaf::MultifileWriter out(path, {{.chunk_size = 10}}, 512);
    out.write(5);
    throw std::runtime_error("elsewhere");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(sheaf::MultifileReader(path).get<int>(), 5);
}

}  // namespace
