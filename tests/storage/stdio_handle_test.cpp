// Programs may mix calls of the stream, the descriptor and the library. All three must agree on the position.
#include "storage/stdio_handle.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <random>

#include "storage/store.hpp"
#include "testing.hpp"

namespace sheaf::testing::stdio_handle_test {
namespace {

constexpr int64_t file_bytes = 100'000;  // more than a few stdio buffers and pages

class StdioHandleTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto file = posix_store().open(path, Access::fresh);
    file->write_at(pattern(file_bytes), 0);
  }
  std::string on_disk(int64_t offset, size_t count) const {
    return read_text(*posix_store().open(path, Access::read), offset, count);
  }
  std::string expected(int64_t offset, size_t count) const {
    return text(pattern(file_bytes)).substr(static_cast<size_t>(offset), count);
  }
  static std::string fread_text(FILE* stream, size_t count) {
    std::string buffer(count, '?');
    buffer.resize(std::fread(buffer.data(), 1, count, stream));
    return buffer;
  }
  static std::string read_descriptor(int fd, size_t count) {
    std::string buffer(count, '?');
    const ssize_t got = ::read(fd, buffer.data(), count);
    buffer.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return buffer;
  }
  // Requires that stream, kernel and handle have the position `position`.
  static void expect_at(StdioHandle& handle, int64_t position) {
    if (handle.stream() != nullptr) {
      EXPECT_EQ(::ftello(handle.stream()), position);
    }
    EXPECT_EQ(handle.position(), position);
    EXPECT_EQ(::lseek(handle.descriptor(), 0, SEEK_CUR), position);
    if (handle.stream() != nullptr) {
      EXPECT_EQ(::ftello(handle.stream()), position);
    }
  }

  TemporaryDirectory directory;
  const std::string path = directory / "a";
};

TEST_F(StdioHandleTest, OpensWithoutCreatingOrTruncating) {
  const auto gone = posix_store().open(directory / "gone", Access::fresh);
  posix_store().remove(directory / "gone");
  EXPECT_EQ(error_of([&] { StdioHandle(*gone, true, true); }).code(), Code::not_found);
  std::filesystem::create_directory(directory / "gone");
  EXPECT_EQ(error_of([&] { StdioHandle(*gone, false, true); }).errno_value(), EISDIR);
  StdioHandle handle(*posix_store().open(path, Access::read), true, true);
  expect_at(handle, 0);
  EXPECT_EQ(::fileno(handle.stream()), handle.descriptor());
  handle.close();
  EXPECT_EQ(on_disk(0, file_bytes), expected(0, file_bytes));
}

TEST_F(StdioHandleTest, WithoutAStreamThereIsOnlyADescriptor) {
  StdioHandle handle(*posix_store().open(path, Access::read), true, false);
  EXPECT_EQ(handle.stream(), nullptr);
  handle.move_to(10);
  ASSERT_EQ(::write(handle.descriptor(), "abc", 3), 3);
  expect_at(handle, 13);
  EXPECT_EQ(read_descriptor(handle.descriptor(), 5), expected(13, 5));
  expect_at(handle, 18);
  EXPECT_EQ(handle.write(bytes("xy")), 2u);
  Bytes buffer(4);
  EXPECT_EQ(handle.read(buffer), 4u);
  EXPECT_EQ(text(buffer), expected(20, 4));
  expect_at(handle, 24);
  EXPECT_FALSE(handle.failed());
  handle.set_buffer(100);
  handle.flush();
  handle.sync();
  handle.close();
  EXPECT_EQ(on_disk(10, 10), "abc" + expected(13, 5) + "xy");
}

TEST_F(StdioHandleTest, PositionWritesPendingOutput) {
  StdioHandle handle(*posix_store().open(path, Access::read), true, true);
  handle.move_to(1000);
  std::fputs("hello", handle.stream());
  EXPECT_EQ(on_disk(1000, 5), expected(1000, 5)) << "nothing was pending";
  expect_at(handle, 1005);
  EXPECT_EQ(on_disk(1000, 6), "hello" + expected(1005, 1));
}

TEST_F(StdioHandleTest, PositionGivesBackReadAhead) {
  for (const bool writable : {false, true}) {
    StdioHandle handle(*posix_store().open(path, Access::read), writable, true);
    handle.move_to(123);
    EXPECT_EQ(fread_text(handle.stream(), 10), expected(123, 10));
    EXPECT_GT(::lseek(handle.descriptor(), 0, SEEK_CUR), 133) << "nothing was read ahead";
    expect_at(handle, 133);
    EXPECT_EQ(read_descriptor(handle.descriptor(), 7), expected(133, 7));
    expect_at(handle, 140);
    EXPECT_EQ(fread_text(handle.stream(), 10), expected(140, 10));
    expect_at(handle, 150);
  }
}

TEST_F(StdioHandleTest, PushedBackCharactersCount) {
  StdioHandle handle(*posix_store().open(path, Access::read), false, true);
  handle.move_to(50);
  fread_text(handle.stream(), 5);
  std::ungetc('\1', handle.stream());
  expect_at(handle, 54);
  EXPECT_EQ(fread_text(handle.stream(), 3), expected(54, 3));
  std::ungetc('\1', handle.stream());
  handle.move_to(70);
  EXPECT_EQ(fread_text(handle.stream(), 3), expected(70, 3));
}

TEST_F(StdioHandleTest, MoveToLeavesStreamAndDescriptorAtOnePlace) {
  StdioHandle handle(*posix_store().open(path, Access::read), true, true);
  for (const int64_t target :
       {int64_t{5000}, int64_t{4096}, int64_t{1}, file_bytes, file_bytes + 5, int64_t{0}}) {
    fread_text(handle.stream(), 3);
    handle.move_to(target);
    EXPECT_EQ(::lseek(handle.descriptor(), 0, SEEK_CUR), target);
    expect_at(handle, target);
  }
  std::fputs("one", handle.stream());
  handle.move_to(9000);
  std::fputs("two", handle.stream());
  handle.move_to(9001);
  EXPECT_EQ(fread_text(handle.stream(), 2), "wo");
  EXPECT_EQ(on_disk(0, 3), "one");
  EXPECT_EQ(on_disk(3, 100), expected(3, 100));
  EXPECT_EQ(error_of([&] { handle.move_to(-1); }).code(), Code::invalid_argument);
}

TEST_F(StdioHandleTest, MoveToClearsEndOfFile) {
  StdioHandle handle(*posix_store().open(path, Access::read), false, true);
  handle.move_to(file_bytes - 2);
  EXPECT_EQ(fread_text(handle.stream(), 9), expected(file_bytes - 2, 2));
  EXPECT_NE(std::feof(handle.stream()), 0);
  expect_at(handle, file_bytes);
  EXPECT_NE(std::feof(handle.stream()), 0) << "asking for the position is not moving";
  handle.move_to(7);
  EXPECT_EQ(std::feof(handle.stream()), 0);
  EXPECT_EQ(fread_text(handle.stream(), 9), expected(7, 9));
}

TEST_F(StdioHandleTest, DescriptorWritesBetweenStreamWritesLandInOrder) {
  StdioHandle handle(*posix_store().open(path, Access::read), true, true);
  handle.move_to(200);
  std::fputs("one", handle.stream());
  handle.flush();
  ASSERT_EQ(::write(handle.descriptor(), "two", 3), 3);
  expect_at(handle, 206);
  std::fputs("three", handle.stream());
  expect_at(handle, 211);
  handle.close();
  EXPECT_EQ(on_disk(200, 12), "onetwothree" + expected(211, 1));
}

// Random programs against a model: contents and one position.
TEST_F(StdioHandleTest, AnyMixOfRoutesAgreesWithTheModel) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    StdioHandle handle(*posix_store().open(path, Access::read), true, true);
    if (seed % 3 == 1) handle.set_buffer(64);
    if (seed % 3 == 2) handle.set_buffer(0);
    std::string model = on_disk(0, file_bytes * 2);
    size_t at = 0;
    for (int step = 0; step < 300; ++step) {
      const size_t count = random() % (step % 7 == 0 ? 9000 : 40);
      const std::string data(count, static_cast<char>('a' + random() % 26));
      const unsigned action = random() % 6;
      SCOPED_TRACE("seed " + std::to_string(seed) + " step " + std::to_string(step) + " action " +
                   std::to_string(action));
      if (action == 0 || action == 1) {
        if (model.size() < at + count) model.resize(at + count);
        model.replace(at, count, data);
        if (action == 0) {
          ASSERT_EQ(std::fwrite(data.data(), 1, count, handle.stream()), count);
        } else {
          ASSERT_EQ(::write(handle.descriptor(), data.data(), count), static_cast<ssize_t>(count));
        }
        at += count;
      } else if (action == 2 || action == 3) {
        const std::string want = at < model.size() ? model.substr(at, count) : "";
        ASSERT_EQ(
            action == 2 ? fread_text(handle.stream(), count) : read_descriptor(handle.descriptor(), count),
            want);
        at += want.size();
      } else if (action == 4) {
        handle.move_to(static_cast<int64_t>(at = random() % file_bytes));
        continue;
      }
      ASSERT_EQ(handle.position(), static_cast<int64_t>(at));
      ASSERT_EQ(::ftello(handle.stream()), static_cast<int64_t>(at));
    }
    handle.close();
    ASSERT_TRUE(on_disk(0, file_bytes * 2) == model) << seed;
  }
}

TEST_F(StdioHandleTest, SetBufferDecidesWhatIsPending) {
  StdioHandle handle(*posix_store().open(path, Access::read), true, true);
  handle.set_buffer(10'000);
  std::fwrite(std::string(9'000, 'x').data(), 1, 9'000, handle.stream());
  EXPECT_EQ(on_disk(0, 1), expected(0, 1));
  handle.set_buffer(0);
  EXPECT_EQ(on_disk(8'999, 1), "x");
  std::fputs("now", handle.stream());
  EXPECT_EQ(on_disk(9'000, 3), "now");
  handle.set_buffer(256);
  std::fputs("later", handle.stream());
  EXPECT_EQ(on_disk(9'003, 5), expected(9'003, 5));
  handle.sync();
  EXPECT_EQ(on_disk(9'003, 5), "later");
}

TEST_F(StdioHandleTest, LostOutputIsReported) {
  const auto lose = [](auto call) {
    StdioHandle handle(*posix_store().open("/dev/full", Access::write), true, true);
    std::fputs("lost", handle.stream());
    EXPECT_EQ(error_of([&] { call(handle); }).code(), Code::no_space);
    return handle.stream() == nullptr || handle.failed();
  };
  EXPECT_TRUE(lose([](StdioHandle& handle) { handle.flush(); }));
  EXPECT_TRUE(lose([](StdioHandle& handle) { handle.position(); }));
  EXPECT_TRUE(lose([](StdioHandle& handle) { handle.move_to(0); }));
  EXPECT_TRUE(lose([](StdioHandle& handle) { handle.sync(); }));
  EXPECT_TRUE(lose([](StdioHandle& handle) { handle.close(); }));
}

TEST_F(StdioHandleTest, FailedTransfersAreMarked) {
  StdioHandle with_stream(*posix_store().open(path, Access::read), false, true);
  EXPECT_FALSE(with_stream.failed());
  EXPECT_EQ(with_stream.write(bytes("x")), 0u);
  EXPECT_TRUE(with_stream.failed());
  with_stream.move_to(0);
  EXPECT_FALSE(with_stream.failed());
  StdioHandle without(*posix_store().open(path, Access::read), false, false);
  EXPECT_EQ(without.write(bytes("x")), 0u);
  EXPECT_TRUE(without.failed());
}

TEST_F(StdioHandleTest, CloseReleasesOnce) {
  for (const bool with_stream : {false, true}) {
    StdioHandle handle(*posix_store().open(path, Access::read), true, with_stream);
    const int fd = handle.descriptor();
    handle.close();
    EXPECT_EQ(::fcntl(fd, F_GETFD), -1);
    EXPECT_EQ(handle.descriptor(), -1);
    EXPECT_EQ(handle.stream(), nullptr);
    EXPECT_NO_THROW(handle.close());
    EXPECT_EQ(error_of([&] { handle.position(); }).errno_value(), EBADF);
  }
  int fd = -1;
  {
    StdioHandle handle(*posix_store().open(path, Access::read), true, true);
    fd = handle.descriptor();
    std::fputs("kept", handle.stream());
  }
  EXPECT_EQ(::fcntl(fd, F_GETFD), -1);
  EXPECT_EQ(on_disk(0, 4), "kept");
}

TEST_F(StdioHandleTest, AStreamTheProgramClosedIsForgotten) {
  StdioHandle handle(*posix_store().open(path, Access::read), true, true);
  handle.set_buffer(100);
  std::fputs("mine", handle.stream());
  std::fclose(handle.stream());
  const int reused = ::open(path.c_str(), O_RDONLY);  // gets the number of the closed descriptor
  handle.forget();
  EXPECT_NO_THROW(handle.close());
  EXPECT_NE(::fcntl(reused, F_GETFD), -1);
  ::close(reused);
  EXPECT_EQ(on_disk(0, 4), "mine");
}

}  // namespace
}  // namespace sheaf::testing::stdio_handle_test
