// Tests programs that mix FILE*, descriptors and the library's own calls on one open file.
#include <fcntl.h>
#include <unistd.h>

#include "api/api_fixture.hpp"

namespace sheaf::test::streams_test {
namespace {

using Bytes = std::vector<std::byte>;

int number_of(int sid) {
  FILE* fp = sion_get_fp(sid);
  return fp ? fileno(fp) : sion_get_fd(sid);
}

// Makes one random write through one of the routes. Returns the step for the model.
Step random_write(Random& random, int sid, FILE* fp, int64_t task, const TaskModel& model) {
  const int64_t chunk = model.chunk;
  const int64_t done = model.total();
  switch (random.below(4)) {
    case 0: {
      const int64_t n = 1 + random.below(2 * chunk);
      EXPECT_EQ(sion_fwrite(content(task, done, n).data(), 1, static_cast<size_t>(n), sid),
                static_cast<size_t>(n));
      return {Step::write, n};
    }
    case 1:
      EXPECT_EQ(sion_flush(sid), 1);
      EXPECT_EQ(sion_get_bytes_written(sid), done);
      return {Step::flush, 0};
    default: {
      const int64_t n = 1 + random.below(chunk);
      const Bytes data = content(task, done, n);
      EXPECT_EQ(sion_ensure_free_space(sid, n), 1);
      if (fp && random.chance(2)) {
        const auto half = static_cast<size_t>(n / 2);
        EXPECT_EQ(std::fwrite(data.data(), 1, half, fp), half);
        EXPECT_EQ(std::fwrite(data.data() + half, 1, data.size() - half, fp), data.size() - half);
      } else {
        EXPECT_EQ(write(number_of(sid), data.data(), data.size()), n);
      }
      return {Step::write, n};
    }
  }
}

void random_read(Random& random, int sid, FILE* fp, int64_t task, int64_t total) {
  const sion_int64 at = sion_get_bytes_read(sid);
  const sion_int64 in_block = sion_bytes_avail_in_block(sid);
  Bytes found(300);
  int64_t n = 0;
  switch (random.below(5)) {
    case 0: {
      const int64_t to = random.below(total + 1);
      EXPECT_EQ(sion_seek(sid, SION_CURRENT_RANK, SION_ABSOLUTE_POS, to), 1);
      EXPECT_EQ(sion_get_bytes_read(sid), to);
      return;
    }
    case 1:
      EXPECT_EQ(sion_feof(sid), at == total);
      return;
    case 2:
      n = std::min<int64_t>(random.below(300), total - at);
      EXPECT_EQ(sion_fread(found.data(), 1, static_cast<size_t>(n + (at + n == total)), sid),
                static_cast<size_t>(n));
      break;
    default:
      n = std::min<int64_t>(in_block, random.below(300));
      if (fp && random.chance(2)) {
        EXPECT_EQ(std::fread(found.data(), 1, static_cast<size_t>(n), fp), static_cast<size_t>(n));
      } else {
        EXPECT_EQ(read(number_of(sid), found.data(), static_cast<size_t>(n)), n);
      }
  }
  EXPECT_EQ(sion_get_bytes_read(sid), at + n);
  found.resize(static_cast<size_t>(n));
  EXPECT_EQ(found, content(task, at, n));
}

TEST_F(Api, CallsMixedInOneFile) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const bool posix = seed % 2 == 0;
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const std::string file = path("mixed");
    FILE* fp = nullptr;
    int sid = create(file, {64, 100, 1000, 1}, 64, &fp, posix ? "wb,posix" : "wb");
    ASSERT_GE(sid, 0);
    ASSERT_EQ(fp == nullptr, posix);
    std::vector<TaskModel> models;
    for (const int64_t chunk : {64, 128, 1024, 64}) models.push_back({chunk, {0}});
    int task = 0;
    for (int step = 0; step < 80; ++step) {
      if (random.chance(4)) {
        task = static_cast<int>(random.below(4));
        ASSERT_EQ(sion_seek_fp(sid, task, SION_CURRENT_BLK, SION_CURRENT_POS, &fp), 1);
        ASSERT_EQ(fp == nullptr, posix);
      }
      TaskModel& model = models[static_cast<size_t>(task)];
      model.apply(random_write(random, sid, fp, task, model));
    }
    ASSERT_EQ(sion_close(sid), 1);

    sid = open(file, &fp, posix ? "rb,posix" : "rb");
    ASSERT_GE(sid, 0);
    for (int t = 0; t < 4; ++t) {
      ASSERT_EQ(sion_seek_fp(sid, t, 0, 0, &fp), 1);
      const TaskModel& model = models[static_cast<size_t>(t)];
      int blocks = 0;
      sion_int64* sizes = nullptr;
      EXPECT_EQ(sion_get_current_location(sid, nullptr, nullptr, &blocks, &sizes), 1);
      EXPECT_EQ(std::vector<int64_t>(sizes, sizes + blocks), model.blocks);
      for (int step = 0; step < 60; ++step) random_read(random, sid, fp, t, model.total());
    }
    ASSERT_EQ(sion_close(sid), 1);
    if (HasFailure()) break;
  }
}

TEST_F(Api, TheLoopsOfTheManual) {
  const std::string file = example();
  for (const bool one : {false, true}) {
    FILE* fp = nullptr;
    const int sid = one ? open_rank(file, 0, &fp) : open(file, &fp);
    Bytes all;
    while (!sion_feof(sid)) {
      Bytes block(static_cast<size_t>(sion_bytes_avail_in_block(sid)));
      EXPECT_EQ(std::fread(block.data(), 1, block.size(), fp), block.size());
      all.insert(all.end(), block.begin(), block.end());
    }
    EXPECT_EQ(all, content(0, 0, 633));
    EXPECT_EQ(sion_close(sid), 1);
  }
}

TEST_F(Api, StreamsAndDescriptorsFollowTheMode) {
  const std::string file = example();
  int sid = open(file);
  EXPECT_NE(sion_get_fp(sid), nullptr);
  EXPECT_EQ(sion_get_fp(sid), sion_get_fp(sid));
  EXPECT_EQ(sion_get_fd(sid), -1);
  EXPECT_EQ(sion_optimize_fp_buffer(sid), 1);
  EXPECT_EQ(sion_close(sid), 1);
  FILE* fp = stderr;
  sid = open(file, &fp, "rb,posix");
  EXPECT_EQ(fp, nullptr);
  EXPECT_EQ(sion_get_fp(sid), nullptr);
  EXPECT_GE(sion_get_fd(sid), 0);
  EXPECT_EQ(sion_set_second_fp(sid, stderr), 0);
  EXPECT_EQ(sion_close(sid), 1);
}

TEST_F(Api, AFailedOpenLeavesTheStreamArgumentAlone) {
  FILE* fp = stderr;
  EXPECT_EQ(open(path("missing"), &fp), -1);
  EXPECT_EQ(fp, stderr);
  EXPECT_EQ(create(path("a"), {-1}, 512, &fp), -1);
  EXPECT_EQ(fp, stderr);
}

class StreamOverrun : public Api {
 protected:
  // Writes three tasks with chunks of 64 bytes. Task 1 writes 80 bytes through its stream.
  int overrun(const std::string& file) {
    FILE* fp = nullptr;
    const int sid = create(file, {64, 64, 64}, 64, &fp);
    EXPECT_EQ(sion_seek_fp(sid, 1, SION_CURRENT_BLK, SION_CURRENT_POS, &fp), 1);
    EXPECT_EQ(sion_ensure_free_space(sid, 64), 1);
    EXPECT_EQ(std::fwrite(content(1, 0, 80).data(), 1, 80, fp), 80u);
    return sid;
  }
  // Returns what `call` prints to stderr.
  template <class Call>
  std::string said(Call&& call) {
    sheaf_print_errors(1);
    ::testing::internal::CaptureStderr();
    call();
    sheaf_print_errors(0);
    return ::testing::internal::GetCapturedStderr();
  }
};

TEST_F(StreamOverrun, IsReportedByTheNextCallWithTheTaskThatDidIt) {
  const auto reports = [&](const std::string& text) {
    EXPECT_NE(text.find("task 1 wrote beyond its chunk of 64 bytes"), std::string::npos) << text;
    EXPECT_EQ(text.find("wrote beyond"), text.rfind("wrote beyond")) << text;
  };
  int sid = overrun(path("a"));
  reports(said([&] { EXPECT_EQ(sion_fwrite("x", 1, 1, sid), 1u); }));
  EXPECT_EQ(said([&] { EXPECT_EQ(sion_close(sid), 1); }), "");
  sid = overrun(path("a"));
  reports(said([&] { EXPECT_EQ(sion_flush(sid), 1); }));
  sion_close(sid);
  sid = overrun(path("a"));
  reports(said([&] { EXPECT_EQ(sion_ensure_free_space(sid, 1), 1); }));
  sion_close(sid);
  sid = overrun(path("a"));
  reports(said([&] {
    EXPECT_EQ(sion_seek(sid, 0, SION_CURRENT_BLK, SION_CURRENT_POS), 1);
    EXPECT_EQ(sion_fwrite("x", 1, 1, sid), 1u);
  }));
  sion_close(sid);
  sid = overrun(path("a"));
  reports(said([&] { EXPECT_EQ(sion_close(sid), 1); }));
}

TEST_F(StreamOverrun, CanBeRead) {
  int sid = overrun(path("a"));
  EXPECT_EQ(sion_get_bytes_written(sid), 80);
  EXPECT_EQ(sion_fwrite(content(1, 80, 10).data(), 1, 10, sid),
            10u);  // appended after the bytes that were moved to the next chunk
  EXPECT_EQ(sion_close(sid), 1);
  sid = open(path("a"));
  EXPECT_EQ(sion_seek(sid, 1, 0, 0), 1);
  EXPECT_EQ(sion_bytes_avail_in_block(sid), 64);
  Bytes found(90);
  EXPECT_EQ(sion_fread(found.data(), 1, 90, sid), 90u);
  EXPECT_EQ(found, content(1, 0, 90));
  EXPECT_EQ(sion_close(sid), 1);
}

TEST_F(StreamOverrun, LinesBehindAChunkAreKept) {
  FILE* fp = nullptr;
  int sid = create(path("a"), {4096, 4096}, 4096, &fp);
  std::string wanted;
  for (int i = 0; i < 300; ++i) {
    const std::string line = "line " + std::to_string(i) + " of a program that knows no chunks\n";
    EXPECT_EQ(std::fprintf(fp, "%s", line.c_str()), static_cast<int>(line.size()));
    wanted += line;
  }
  EXPECT_EQ(sion_close(sid), 1);
  sid = open(path("a"));
  std::string found(wanted.size() + 1, ' ');
  found.resize(sion_fread(found.data(), 1, found.size(), sid));
  EXPECT_EQ(found, wanted);
  EXPECT_EQ(sion_close(sid), 1);
}

TEST_F(StreamOverrun, OverWhatATaskHasWrittenFailsTheCloseAndEveryTaskCanBeRead) {
  FILE* fp = nullptr;
  int sid = create(path("a"), {64, 64, 64}, 64, &fp);
  EXPECT_EQ(sion_seek(sid, 2, SION_CURRENT_BLK, SION_CURRENT_POS), 1);
  EXPECT_EQ(sion_fwrite(content(2, 0, 10).data(), 1, 10, sid), 10u);
  EXPECT_EQ(sion_seek_fp(sid, 1, SION_CURRENT_BLK, SION_CURRENT_POS, &fp), 1);
  EXPECT_EQ(std::fwrite(content(1, 0, 80).data(), 1, 80, fp), 80u);
  EXPECT_NE(said([&] { EXPECT_EQ(sion_close(sid), 0); })
                .find("task 1 wrote 16 bytes behind its chunk 0, at offset 1280, through its own stream, "
                      "over 10 bytes of task 2"),
            std::string::npos)
      << sheaf_last_error();
  sid = open(path("a"));
  for (const auto& [task, bytes] : std::vector<std::pair<int, size_t>>{{0, 0}, {1, 80}, {2, 10}}) {
    EXPECT_EQ(sion_seek(sid, task, 0, 0), 1);
    Bytes found(100);
    found.resize(sion_fread(found.data(), 1, found.size(), sid));
    EXPECT_EQ(found.size(), bytes);
    if (task == 1) {
      EXPECT_EQ(found, content(1, 0, 80));
    }
  }
  EXPECT_EQ(sion_close(sid), 1);
}

TEST_F(Api, ASecondStreamTakesOver) {
  const std::string file = path("a");
  FILE* own = nullptr;
  int sid = create(file, {64, 64}, 64, &own);
  FILE* second = std::fopen(file.c_str(), "r+");
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(sion_fwrite("abc", 1, 3, sid), 3u);
  EXPECT_EQ(sion_set_second_fp(sid, nullptr), 0);
  EXPECT_EQ(sion_unset_second_fp(sid), 1) << "there is none, which is only told";
  EXPECT_EQ(sion_set_second_fp(sid, second), 1);
  EXPECT_EQ(sion_set_second_fp(sid, stderr), 1) << "changes nothing, which is told";
  EXPECT_EQ(sion_get_fp(sid), second);
  EXPECT_EQ(std::fwrite("def", 1, 3, second), 3u);
  EXPECT_EQ(sion_fwrite("ghi", 1, 3, sid), 3u);
  EXPECT_EQ(sion_get_bytes_written(sid), 9);
  EXPECT_EQ(sion_unset_second_fp(sid), 1);
  EXPECT_EQ(sion_get_fp(sid), own);
  EXPECT_EQ(std::fwrite("jkl", 1, 3, own), 3u);
  EXPECT_EQ(sion_set_second_fp(sid, second), 1);
  EXPECT_EQ(std::fwrite("m", 1, 1, second), 1u);
  EXPECT_EQ(sion_close(sid), 1);  // closes both streams

  sid = open(file, &own);
  second = std::fopen(file.c_str(), "r");
  char found[14] = {};
  EXPECT_EQ(std::fread(found, 1, 2, own), 2u);
  EXPECT_EQ(sion_set_second_fp(sid, second), 1);
  EXPECT_EQ(std::fread(found + 2, 1, 3, second), 3u);
  EXPECT_EQ(sion_fread(found + 5, 1, 4, sid), 4u);
  EXPECT_EQ(sion_bytes_avail_in_block(sid), 4);
  EXPECT_EQ(sion_unset_second_fp(sid), 1);
  EXPECT_EQ(std::fread(found + 9, 1, 4, own), 4u);
  EXPECT_STREQ(found, "abcdefghijklm");
  EXPECT_EQ(sion_feof(sid), 1);
  EXPECT_EQ(sion_close(sid), 1);
  std::fclose(second);
}

TEST_F(Api, AStreamThatTheProgramCloses) {
  FILE* fp = nullptr;
  int sid = create(path("a"), {64}, 64, &fp);
  EXPECT_EQ(std::fwrite("abc", 1, 3, fp), 3u);
  EXPECT_EQ(sion_flush(sid), 1);
  EXPECT_EQ(std::fwrite("de", 1, 2, fp), 2u);  // in the stream's buffer until it is closed
  std::fclose(fp);
  EXPECT_EQ(sion_set_fp_closed(sid), 1);
  EXPECT_EQ(sion_get_bytes_written(sid), 5);
  EXPECT_EQ(sion_fwrite("f", 1, 1, sid), 1u);
  EXPECT_EQ(sion_close(sid), 1);
  sid = open(path("a"), &fp);
  std::fclose(fp);
  EXPECT_EQ(sion_set_fp_closed(sid), 1);
  char found[7] = {};
  EXPECT_EQ(sion_fread(found, 1, 6, sid), 6u);
  EXPECT_STREQ(found, "abcdef");
  EXPECT_EQ(sion_close(sid), 1);
}

TEST_F(Api, ASecondStreamThatTheProgramCloses) {
  int sid = create(path("a"), {64}, 64);
  EXPECT_EQ(sion_fwrite("abc", 1, 3, sid), 3u);
  FILE* const second = std::fopen(path("a").c_str(), "r+");
  EXPECT_EQ(sion_set_second_fp(sid, second), 1);
  EXPECT_EQ(sion_fwrite("de", 1, 2, sid), 2u);
  EXPECT_EQ(sion_flush(sid), 1);
  std::fclose(second);
  EXPECT_EQ(sion_set_fp_closed(sid), 1);
  EXPECT_EQ(sion_fwrite("f", 1, 1, sid), 1u);
  EXPECT_EQ(sion_close(sid), 1);
  sid = open(path("a"));
  char found[7] = {};
  EXPECT_EQ(sion_fread(found, 1, 6, sid), 6u);
  EXPECT_STREQ(found, "abcdef");
  EXPECT_EQ(sion_close(sid), 1);
}

// A task that seeks back in its stream and writes again must not shrink its block.
TEST_F(Api, SeekingBackInTheStream) {
  FILE* fp = nullptr;
  int sid = create(path("a"), {64}, 64, &fp);
  EXPECT_EQ(std::fwrite("abcdef", 1, 6, fp), 6u);
  EXPECT_EQ(std::fseek(fp, -6, SEEK_CUR), 0);
  EXPECT_EQ(std::fwrite("AB", 1, 2, fp), 2u);
  EXPECT_EQ(sion_close(sid), 1);
  sid = open(path("a"));
  char found[7] = {};
  const size_t got = sion_fread(found, 1, 6, sid);
  EXPECT_EQ(sion_close(sid), 1);
  EXPECT_EQ(std::string(found, got).substr(0, 2), "AB");
}

}  // namespace
}  // namespace sheaf::test::streams_test
