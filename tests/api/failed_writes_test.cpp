// Programs write to a disk that is full for a while. If a program ignores failed writes, its close must fail,
// and with `atomic` the old checkpoint must keep its name. If it repeats the failed writes, the file must be
// complete. The tests cover every call and stream that writes.
#include <unistd.h>

#include "api/api_fixture.hpp"
#include "support/tmpfs.hpp"

namespace sheaf::test::failed_writes_test {
namespace {

constexpr int64_t call_bytes = 30'000;
constexpr int max_calls = 200;  // more data than the file system can hold

class ApiFailedWrites : public Api {
 protected:
  void SetUp() override {
    Api::SetUp();
    disk_ = std::make_unique<SmallTmpfs>(path("disk"), "2m");
    if (!*disk_) GTEST_SKIP() << "cannot mount a tmpfs";
    file_ = disk_->file();
    ballast_ = path("disk") + "/ballast";
  }
  void TearDown() override {
    disk_.reset();
    Api::TearDown();
  }

  // Fills the disk with another file, except for `leave` bytes.
  void fill(int64_t leave) {
    std::ofstream ballast(ballast_, std::ios::binary);
    const std::string piece(64 << 10, 'x');
    while (ballast.write(piece.data(), std::ssize(piece)).flush()) {
    }
    ballast.close();
    const auto size = static_cast<int64_t>(std::filesystem::file_size(ballast_));
    std::filesystem::resize_file(ballast_, static_cast<uintmax_t>(std::max<int64_t>(0, size - leave)));
  }
  void make_room() { std::filesystem::remove(ballast_); }

  static std::vector<std::byte> bytes_of_call(int number) { return content(1009 * number, 0, call_bytes); }
  static bool write(int sid, int number) {
    const auto data = bytes_of_call(number);
    return sion_fwrite(data.data(), 1, data.size(), sid) == data.size();
  }
  // Writes a complete checkpoint of one call.
  void save_old() {
    const int sid = create(file_, {100'000}, 4096, nullptr, "wb,atomic");
    EXPECT_TRUE(write(sid, 1000));
    ASSERT_EQ(sion_close(sid), 1);
  }
  // Returns the stream of `task`, or nothing if the file is unreadable or unclosed.
  std::vector<std::byte> found(int task = 0) const {
    std::vector<std::byte> data(max_calls * call_bytes);
    const int sid = open(file_);
    if (sid < 0) return {};
    EXPECT_EQ(sion_seek(sid, task, 0, 0), 1);
    data.resize(sion_fread(data.data(), 1, data.size(), sid));
    EXPECT_EQ(sion_close(sid), 1);
    return data;
  }
  void expect_old() { EXPECT_EQ(found(), bytes_of_call(1000)) << "the old checkpoint has lost its name"; }

  std::string file_;

 private:
  std::unique_ptr<SmallTmpfs> disk_;
  std::string ballast_;
};

const char* const further_words[] = {"",
                                     ",durable",
                                     ",journal=off",
                                     ",buffer=0",
                                     ",compress=lz4,frame=4k,compress_threads=0",
                                     ",compress=lz4,frame=4k,compress_threads=2",
                                     ",term=flush",
                                     ",checksums=off",
                                     ",keyval=inline"};

TEST_F(ApiFailedWrites, AtomicKeepsTheOldFileIfTheProgramDoesNotLook) {
  for (const std::string words : further_words) {
    SCOPED_TRACE(words);
    save_old();
    fill(500'000);
    const int sid = create(file_, {100'000}, 4096, nullptr, ("wb,atomic" + words).c_str());
    const bool keyval = words.find("keyval") != std::string::npos;
    int failed = 0;
    for (int call = 0; call < max_calls; ++call) {
      const auto data = bytes_of_call(call);
      failed +=
          keyval ? sion_fwrite_key(data.data(), 7, 1, data.size(), sid) != data.size() : !write(sid, call);
    }
    EXPECT_GT(failed, 0);
    make_room();
    EXPECT_EQ(sion_flush(sid), 0);
    EXPECT_TRUE(last_error_has("has failed and was not repeated")) << sheaf_last_error();
    EXPECT_TRUE(last_error_has(file_)) << sheaf_last_error();
    EXPECT_TRUE(last_error_has("task 0")) << sheaf_last_error();
    EXPECT_TRUE(last_error_has("No space left")) << sheaf_last_error();
    EXPECT_EQ(sion_close(sid), 0);
    EXPECT_TRUE(last_error_has("has failed and was not repeated")) << sheaf_last_error();
    expect_old();
    for (const auto& entry : std::filesystem::directory_iterator(path("disk")))
      std::filesystem::remove(entry.path());
  }
}

TEST_F(ApiFailedWrites, ARetryMakesTheFileComplete) {
  for (const std::string words : further_words) {
    if (words.find("keyval") != std::string::npos) continue;
    SCOPED_TRACE(words);
    save_old();
    fill(500'000);
    const int sid = create(file_, {100'000}, 4096, nullptr, ("wb,atomic" + words).c_str());
    int call = 0;
    while (call < max_calls && write(sid, call)) ++call;
    ASSERT_LT(call, max_calls);
    EXPECT_FALSE(write(sid, call)) << "there is no room yet";
    EXPECT_EQ(sion_flush(sid), 0);
    make_room();
    // Such small pieces go through a buffer. The handle must remember the failed write of a buffer too.
    const auto data = bytes_of_call(call);
    for (size_t at = 0; at < data.size(); at += 8) EXPECT_EQ(sion_fwrite(&data[at], 1, 8, sid), 8u);
    EXPECT_EQ(sion_flush(sid), 1) << sheaf_last_error();
    EXPECT_TRUE(write(sid, ++call));
    EXPECT_EQ(sion_close(sid), 1) << sheaf_last_error();
    std::vector<std::byte> wanted;
    for (int i = 0; i <= call; ++i) {
      const auto piece = bytes_of_call(i);
      wanted.insert(wanted.end(), piece.begin(), piece.end());
    }
    EXPECT_EQ(found(), wanted);
    std::filesystem::remove(file_);
  }
}

TEST_F(ApiFailedWrites, SmallRecordsOfAnotherContentDoNotCount) {
  fill(100'000);
  const int sid = create(file_, {4096}, 4096, nullptr, "wb,buffer=0");
  int64_t record = 0;
  while (sion_fwrite(&record, 8, 1, sid) == 1 && record < 1'000'000) ++record;
  make_room();
  ++record;  // the program ignores the failure and continues
  EXPECT_EQ(sion_fwrite(&record, 8, 1, sid), 1u);
  EXPECT_EQ(sion_close(sid), 0);
}

TEST_F(ApiFailedWrites, AnUnclosedFileHasWhatWasAccepted) {
  fill(400'000);
  const int sid = create(file_, {100'000}, 4096, nullptr, "wb");
  int call = 0;
  while (call < max_calls && write(sid, call)) ++call;
  make_room();
  EXPECT_EQ(sion_close(sid), 0);
  const auto data = found();
  EXPECT_EQ(std::ssize(data), call * call_bytes);
}

TEST_F(ApiFailedWrites, BufferedBytesWaitForTheNextFlush) {
  fill(0);
  make_room();
  const int sid = create(file_, {100'000}, 4096, nullptr, "wb,buffer=64k");
  EXPECT_EQ(sion_flush(sid), 1);
  fill(0);
  const auto data = bytes_of_call(0);
  EXPECT_EQ(sion_fwrite(data.data(), 1, data.size(), sid), data.size());  // accepted by the buffer
  EXPECT_EQ(sion_flush(sid), 0);
  EXPECT_EQ(sion_flush(sid), 0);
  make_room();
  EXPECT_EQ(sion_close(sid), 1) << sheaf_last_error();
  EXPECT_EQ(found(), data);
}

TEST_F(ApiFailedWrites, PrintedTextAndStreamsThroughTheLibraryAreRemembered) {
  for (const bool prints : {false, true})
    for (const bool buffered : {false, true})
      for (const bool repeats : {false, true}) {
        SCOPED_TRACE(std::to_string(prints) + std::to_string(buffered) + std::to_string(repeats));
        save_old();
        fill(300'000);
        FILE* fp = nullptr;
        const int sid = create(file_, {100'000}, 4096, &fp, "wb,atomic,fileptr=stream,buffer=0");
        std::vector<char> memory(20'000);
        if (buffered) std::setvbuf(fp, memory.data(), _IOFBF, memory.size());
        const std::string text(call_bytes, 'q');
        const auto put = [&] {
          if (prints) return sion_fprintf(sid, "%s", text.c_str()) == static_cast<int>(text.size());
          return std::fwrite(text.data(), 1, text.size(), fp) == text.size() && std::fflush(fp) == 0;
        };
        int calls = 0;
        while (calls < max_calls && put()) ++calls;
        ASSERT_LT(calls, max_calls);
        EXPECT_EQ(std::ferror(fp) != 0, !prints);
        EXPECT_EQ(sion_flush(sid), 0);
        EXPECT_EQ(std::ferror(fp) != 0, !prints) << "the mark is the program's to clear";
        make_room();
        if (!repeats) {
          EXPECT_EQ(sion_close(sid), 0);
          expect_old();
        } else if (!buffered) {
          EXPECT_TRUE(put());
          EXPECT_EQ(sion_close(sid), 1) << sheaf_last_error();
          EXPECT_EQ(std::ssize(found()), (calls + 1) * call_bytes);
        } else {
          EXPECT_EQ(sheaf_abandon(sid), 1);  // stdio has written an unknown part of the text
        }
        for (const auto& entry : std::filesystem::directory_iterator(path("disk")))
          std::filesystem::remove(entry.path());
      }
}

TEST_F(ApiFailedWrites, TheErrorMarkOfAStreamOfThePhysicalFileFailsTheClose) {
  for (const bool flushes : {false, true}) {
    save_old();
    fill(300'000);
    FILE* fp = nullptr;
    const int sid = create(file_, {8'000'000}, 4096, &fp, "wb,atomic");
    const auto data = bytes_of_call(0);
    for (int call = 0; call < 50; ++call) std::fwrite(data.data(), 1, data.size(), fp);
    EXPECT_TRUE(std::ferror(fp));
    make_room();
    if (flushes) {
      EXPECT_EQ(sion_flush(sid), 0);
      EXPECT_EQ(sion_ensure_free_space(sid, 7'900'000), 1) << "moves the stream to another chunk";
      EXPECT_TRUE(std::ferror(fp)) << "the mark is the program's to clear";
      EXPECT_EQ(sion_flush(sid), 0);
    }
    EXPECT_EQ(sion_close(sid), 0);
    expect_old();
    for (const auto& entry : std::filesystem::directory_iterator(path("disk")))
      std::filesystem::remove(entry.path());
  }
}

// A failed flush makes stdio discard its buffer, so the close must fail.
TEST_F(ApiFailedWrites, BytesThatStdioCouldNotFlushFailTheClose) {
  save_old();
  FILE* fp = nullptr;
  const int sid = create(file_, {8'000'000}, 4096, &fp, "wb,atomic");
  std::fputs("a line", fp);
  fill(0);
  EXPECT_EQ(sion_flush(sid), 0);
  make_room();
  EXPECT_EQ(sion_flush(sid), 0);
  EXPECT_EQ(sion_close(sid), 0);
  expect_old();
}

TEST_F(ApiFailedWrites, AProgramThatClearsTheMarkHasRepeatedItsBytes) {
  FILE* fp = nullptr;
  const int sid = create(file_, {8'000'000}, 4096, &fp, "wb");
  EXPECT_EQ(sion_flush(sid), 1);
  std::setvbuf(fp, nullptr, _IONBF, 0);
  fill(0);
  const auto data = bytes_of_call(0);
  const size_t done = std::fwrite(data.data(), 1, data.size(), fp);
  EXPECT_LT(done, data.size());
  make_room();
  std::clearerr(fp);
  EXPECT_EQ(std::fwrite(&data[done], 1, data.size() - done, fp), data.size() - done);
  EXPECT_EQ(sion_close(sid), 1) << sheaf_last_error();
  EXPECT_EQ(found(), data);
}

// If the switch to another task fails, no bytes of the new task may get into the stream of the old one.
TEST_F(ApiFailedWrites, ATaskThatCouldNotBeSelectedGetsItsBytesOrTheCloseFails) {
  for (const bool looks : {false, true}) {
    SCOPED_TRACE(looks);
    const int sid = create(file_, {100'000, 100'000}, 4096, nullptr, "wb,buffer=64k");
    EXPECT_EQ(sion_flush(sid), 1);
    fill(0);
    const auto first = bytes_of_call(0), second = bytes_of_call(1);
    EXPECT_EQ(sion_fwrite(first.data(), 1, first.size(), sid), first.size());
    EXPECT_EQ(sion_seek(sid, 1, SION_CURRENT_BLK, SION_CURRENT_POS), 0);
    make_room();
    EXPECT_EQ(sion_fwrite(second.data(), 1, second.size(), sid), 0u) << "would go to task 0";
    EXPECT_EQ(sion_fwrite(second.data(), 1, 8, sid), 0u);
    if (looks) {
      EXPECT_EQ(sion_seek(sid, 1, SION_CURRENT_BLK, SION_CURRENT_POS), 1);
      EXPECT_EQ(sion_fwrite(second.data(), 1, second.size(), sid), second.size());
    }
    EXPECT_EQ(sion_close(sid), looks) << sheaf_last_error();
    if (looks) {
      EXPECT_EQ(found(0), first);
      EXPECT_EQ(found(1), second);
    }
    std::filesystem::remove(file_);
  }
}

TEST_F(ApiFailedWrites, BadArgumentsAreNoWrites) {
  const int sid = create(file_, {100'000}, 4096, nullptr, "wb");
  EXPECT_TRUE(write(sid, 0));
  EXPECT_EQ(sion_fwrite(nullptr, 1, 8, sid), 0u);
  EXPECT_EQ(sion_fwrite(&file_, SIZE_MAX, 8, sid), 0u);
  EXPECT_EQ(sion_close(sid), 1) << sheaf_last_error();
  EXPECT_EQ(found(), bytes_of_call(0));
}

}  // namespace
}  // namespace sheaf::test::failed_writes_test
