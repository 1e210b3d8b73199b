// Tests sion_open, sion_open_rank and sion_close: their arguments and results, and all arguments that they
// must refuse.
#include <sys/resource.h>

#include <csignal>

#include "api/api_fixture.hpp"

namespace sheaf::test::serial_open_test {
namespace {

std::string bytes_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_F(Api, OpenGivesArraysInThreeWays) {
  const std::string file = example();
  int ntasks = 0;
  int nfiles = 0;
  int fsblksize = 0;
  long long* sizes = nullptr;  // array allocated by the call
  int filled[3] = {};
  int* ranks = filled;  // array filled by the call
  int sid =
      sion_open(const_cast<char*>(file.c_str()), "rb", &ntasks, &nfiles, &sizes, &fsblksize, &ranks, nullptr);
  ASSERT_GE(sid, 0);
  EXPECT_EQ(ntasks, 3);
  EXPECT_EQ(nfiles, 1);
  EXPECT_EQ(fsblksize, 512);
  ASSERT_NE(sizes, nullptr);
  for (int t = 0; t < 3; ++t) {
    EXPECT_EQ(sizes[t], 512);
    EXPECT_EQ(filled[t], 100 + t);
  }
  EXPECT_EQ(ranks, filled);
  std::free(sizes);
  EXPECT_EQ(sion_close(sid), 1);
  sid = open(file);  // no arrays requested
  EXPECT_GE(sid, 0);
  EXPECT_EQ(sion_close(sid), 1);
  sid = open(file, nullptr, "");  // no mode word: opens for reading
  EXPECT_GE(sid, 0);
  EXPECT_EQ(sion_close(sid), 1);
  sid = open(file, nullptr, nullptr);
  EXPECT_GE(sid, 0);
  EXPECT_EQ(sion_close(sid), 1);
}

TEST_F(Api, OpenForWritingRefusesBadArgumentsAndTouchesNothing) {
  std::string file = path("old");
  std::ofstream(file) << "precious";
  char* name = file.data();
  int ntasks = 2;
  int nfiles = 1;
  int fsblksize = -1;
  long long two[] = {100, 100};
  long long* sizes = two;
  int ids[] = {0, 1};
  int* ranks = ids;
  long long* no_sizes = nullptr;
  int* no_ranks = nullptr;
  EXPECT_EQ(sion_open(nullptr, "wb", &ntasks, &nfiles, &sizes, &fsblksize, &ranks, nullptr), -1);
  EXPECT_EQ(sion_open(name, "wb", nullptr, &nfiles, &sizes, &fsblksize, &ranks, nullptr), -1);
  EXPECT_EQ(sion_open(name, "wb", &ntasks, &nfiles, &sizes, nullptr, &ranks, nullptr), -1);
  EXPECT_EQ(sion_open(name, "wb", &ntasks, &nfiles, nullptr, &fsblksize, &ranks, nullptr), -1);
  EXPECT_EQ(sion_open(name, "wb", &ntasks, &nfiles, &sizes, &fsblksize, nullptr, nullptr), -1);
  EXPECT_EQ(sion_open(name, "wb", &ntasks, &nfiles, &no_sizes, &fsblksize, &ranks, nullptr), -1);
  EXPECT_EQ(sion_open(name, "wb", &ntasks, &nfiles, &sizes, &fsblksize, &no_ranks, nullptr), -1);
  nfiles = 3;
  EXPECT_EQ(sion_open(name, "wb", &ntasks, &nfiles, &sizes, &fsblksize, &ranks, nullptr), -1);
  EXPECT_TRUE(last_error_has("3 physical files for 2 tasks")) << sheaf_last_error();
  nfiles = 1;
  ntasks = -1;
  EXPECT_EQ(sion_open(name, "wb", &ntasks, &nfiles, &sizes, &fsblksize, &ranks, nullptr), -1);
  EXPECT_EQ(create(file, {100, -1}), -1);
  EXPECT_TRUE(last_error_has("task 1 is negative") && last_error_has(file)) << sheaf_last_error();
  EXPECT_EQ(create(file, {LLONG_MAX, 100}), -1);
  EXPECT_EQ(create(file, {1LL << 62, 1LL << 62}), -1);
  EXPECT_EQ(create(file, {100}, 512, nullptr, "wb,keyval=meta"), -1);
  EXPECT_EQ(create(file, {100}, 512, nullptr, "wb,nonsense,strict"), -1);
  EXPECT_EQ(bytes_of(file), "precious");
  EXPECT_EQ(create(path(std::string(300, 'n')), {100}), -1);
  EXPECT_EQ(create(std::string(1100, '/'), {100}), -1);
}

TEST_F(Api, PathsThatCannotBeOpened) {
  const std::string file = example();
  for (const std::string& bad :
       {path("missing"), path("no/such/directory"), file + "/below", path(""), std::string()}) {
    SCOPED_TRACE(bad);
    for (const int sid : {open(bad), open_rank(bad, 0), open(bad, nullptr, "rb,posix")}) {
      EXPECT_EQ(sid, -1);
      EXPECT_TRUE(last_error_has("'" + bad + "'")) << sheaf_last_error();
    }
    if (bad == path("missing")) continue;
    EXPECT_EQ(create(bad, {100}), -1);
    EXPECT_TRUE(last_error_has("'" + bad + "'")) << sheaf_last_error();
  }
  EXPECT_EQ(open(path("missing")), -1);
  EXPECT_TRUE(last_error_has("No such file or directory")) << sheaf_last_error();
  EXPECT_EQ(create(file + "/below", {100}), -1);
  EXPECT_TRUE(last_error_has("Not a directory")) << sheaf_last_error();
  EXPECT_EQ(create(path(""), {100}), -1);
  EXPECT_TRUE(last_error_has("Is a directory")) << sheaf_last_error();
  EXPECT_FALSE(std::filesystem::exists(path("missing")));
}

TEST_F(Api, ForeignAndUnclosedFiles) {
  std::ofstream(path("text")) << "this is no multifile";
  std::ofstream(path("empty"));
  EXPECT_EQ(open(path("text")), -1);
  EXPECT_TRUE(last_error_has("not a SION multifile"));
  EXPECT_EQ(open(path("empty")), -1);
  const int sid = create(path("a"), {100}, 512, nullptr, "wb,journal=off");
  EXPECT_EQ(open(path("a")), -1);
  EXPECT_TRUE(last_error_has("never closed"));
  EXPECT_EQ(open_rank(path("a"), 0), -1);
  EXPECT_EQ(sion_close(sid), 1);
  const int now = open(path("a"));
  EXPECT_GE(now, 0);
  EXPECT_EQ(sion_close(now), 1);
}

TEST_F(Api, OpenRankGivesOneTask) {
  const std::string file = example();
  long long size = 0;
  int fsblksize = 0;
  int rank = 2;
  FILE* fp = nullptr;
  const int sid = sion_open_rank(const_cast<char*>(file.c_str()), "rb", &size, &fsblksize, &rank, &fp);
  ASSERT_GE(sid, 0);
  EXPECT_EQ(size, 512);
  EXPECT_EQ(fsblksize, 512);
  ASSERT_NE(fp, nullptr);
  EXPECT_EQ(std::fgetc(fp), std::to_integer<int>(content(2, 0)));
  EXPECT_EQ(sion_get_bytes_read(sid), 1);
  EXPECT_EQ(sion_seek(sid, 2, 0, 5), 1);
  EXPECT_EQ(sion_seek(sid, 0, 0, 0), 0);
  EXPECT_EQ(sion_get_bytes_read(sid), 5);
  EXPECT_EQ(sion_is_serial_opened(sid), 1);
  EXPECT_EQ(sion_close(sid), 1);

  for (const int bad : {-1, 3, INT_MAX}) EXPECT_EQ(open_rank(file, bad), -1);
  EXPECT_EQ(open_rank(file, 0, nullptr, "wb"), -1);
  EXPECT_EQ(sion_open_rank(const_cast<char*>(file.c_str()), "rb", nullptr, nullptr, nullptr, nullptr), -1);
}

TEST_F(Api, UnknownWordsAreReportedOnce) {
  const std::string file = example();
  sheaf_print_errors(1);
  ::testing::internal::CaptureStderr();
  const int sid = open(file, nullptr, "rb,frobnicate,posix,other=1");
  const std::string said = ::testing::internal::GetCapturedStderr();
  sheaf_print_errors(0);
  ASSERT_GE(sid, 0);
  EXPECT_EQ(said.find("frobnicate"), said.rfind("frobnicate"));
  EXPECT_NE(said.find("SION_ERROR_WARN"), std::string::npos);
  EXPECT_NE(said.find("other=1"), std::string::npos);
  EXPECT_GE(sion_get_fd(sid), 0) << "words behind the unknown one count";
  EXPECT_EQ(sion_close(sid), 1);
}

// SIONlib ignores words that contain blanks. The library must do so too, with a warning, and give a FILE*.
TEST_F(Api, ClassicWordsWithBlanksAreIgnoredAndReported) {
  sheaf_print_errors(1);
  ::testing::internal::CaptureStderr();
  FILE* stream = nullptr;
  const int sid = create(path("a"), {100}, 512, &stream, "wb, posix, durable");
  const std::string said = ::testing::internal::GetCapturedStderr();
  sheaf_print_errors(0);
  ASSERT_GE(sid, 0);
  EXPECT_NE(stream, nullptr);
  EXPECT_NE(
      said.find(
          "' posix' in the open mode is ignored, because the blanks count; write 'posix' if it is meant"),
      std::string::npos)
      << said;
  EXPECT_EQ(said.find("durable"), std::string::npos) << said;
  EXPECT_EQ(sion_close(sid), 1);
}

TEST_F(Api, ErrorsArePrintedInTheDocumentedForm) {
  sheaf_print_errors(1);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(open(path("missing")), -1);
  EXPECT_EQ(sion_flush(-1), 0);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(said.rfind("SION_ERROR_RETURN on rank -1, rc=-1: sion_open: ", 0), 0u) << said;
  EXPECT_NE(said.find("\nSION_ERROR_RETURN on rank -1, rc=0: sion_flush: "), std::string::npos) << said;
  EXPECT_EQ(sheaf_print_errors(0), 1);
  EXPECT_EQ(sheaf_print_errors(0), 0);
}

TEST_F(Api, ANewOpenReplacesTheFile) {
  const std::string file = example();
  const int sid = create(file, {10}, 64);
  EXPECT_EQ(sion_close(sid), 1);
  EXPECT_LT(bytes_of(file).size(), 1500u);
}

TEST_F(Api, NoTasksAtAll) {
  int sid = create(path("none"), {});
  ASSERT_GE(sid, 0);
  EXPECT_EQ(sion_fwrite("x", 1, 1, sid), 0u);
  EXPECT_EQ(sion_seek(sid, 0, SION_CURRENT_BLK, SION_CURRENT_POS), 0);
  EXPECT_EQ(sion_close(sid), 1);
  sid = open(path("none"));
  ASSERT_GE(sid, 0);
  char byte;
  EXPECT_EQ(sion_feof(sid), 1);
  EXPECT_EQ(sion_bytes_avail_in_block(sid), 0);
  EXPECT_EQ(sion_fread(&byte, 1, 1, sid), 0u);
  EXPECT_EQ(sion_seek(sid, SION_CURRENT_RANK, SION_END_POS, 0), 0);
  EXPECT_EQ(sion_seek(sid, SION_CURRENT_RANK, 0, 0), 0);
  EXPECT_EQ(sion_close(sid), 1);
}

// Simulates a full disk by a limit on the size of files that this process writes.
class FullDisk : public Api {
 protected:
  void SetUp() override {
    Api::SetUp();
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
  }
  void limit(rlim_t bytes) {
    const rlimit now{bytes, before_.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &now), 0);
  }
  void TearDown() override {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
    Api::TearDown();
  }
  rlimit before_{};
  void (*handler_)(int) = SIG_DFL;
};

TEST_F(FullDisk, WhileWriting) {
  for (const size_t piece : {size_t{100}, size_t{200'000}})
    for (const char* mode : {"wb,journal=off", "wb,posix,journal=off", "wb,buffer=0,journal=off"}) {
      const int sid = create(path("a"), {1 << 20}, 512, nullptr, mode);
      ASSERT_GE(sid, 0);
      limit(300'000);
      const std::vector<char> data(piece, 'x');
      size_t accepted = 0;
      while (accepted < 4'000'000 && sion_fwrite(data.data(), 1, piece, sid) == piece) accepted += piece;
      EXPECT_LT(accepted, 1'500'000u);  // the limit plus the bytes that a task may buffer
      EXPECT_TRUE(last_error_has("'" + path("a") + "'")) << sheaf_last_error();
      EXPECT_EQ(sion_close(sid), 0);
      setrlimit(RLIMIT_FSIZE, &before_);
      EXPECT_EQ(open(path("a")), -1);
      EXPECT_TRUE(last_error_has("never closed")) << sheaf_last_error();
    }
}

TEST_F(FullDisk, WhileWritingThroughTheStream) {
  FILE* fp = nullptr;
  const int sid = create(path("a"), {1 << 20}, 512, &fp, "wb,journal=off");
  ASSERT_GE(sid, 0);
  limit(300'000);
  const std::vector<char> data(500'000, 'x');
  std::fwrite(data.data(), 1, data.size(), fp);
  EXPECT_EQ(sion_close(sid), 0);
  setrlimit(RLIMIT_FSIZE, &before_);
  EXPECT_EQ(open(path("a")), -1);
}

TEST_F(FullDisk, AtOpenNothingIsLeft) {
  limit(500);
  EXPECT_EQ(create(path("a"), {100}), -1);
  EXPECT_FALSE(std::filesystem::exists(path("a")));
}

}  // namespace
}  // namespace sheaf::test::serial_open_test
