// A program may replace the stream by its own, for instance by a filter without descriptor.
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "storage/stdio_handle.hpp"
#include "storage/store.hpp"
#include "testing.hpp"

namespace sheaf::testing::stdio_second_stream_test {
namespace {

// A stream created with fopencookie on a text in memory; letters change case on their way through.
class FilterStream {
 public:
  explicit FilterStream(std::string contents) : contents_(std::move(contents)) {
    stream = ::fopencookie(this, "r+", {read, write, seek, nullptr});
  }
  ~FilterStream() { std::fclose(stream); }

  const std::string& contents() const { return contents_; }
  FILE* stream;

 private:
  static FilterStream& self(void* cookie) { return *static_cast<FilterStream*>(cookie); }
  static ssize_t read(void* cookie, char* to, size_t count) {
    auto& me = self(cookie);
    count = std::min(count, me.contents_.size() - std::min(me.at_, me.contents_.size()));
    for (size_t i = 0; i < count; ++i) to[i] = static_cast<char>(std::tolower(me.contents_[me.at_ + i]));
    me.at_ += count;
    return static_cast<ssize_t>(count);
  }
  static ssize_t write(void* cookie, const char* from, size_t count) {
    auto& me = self(cookie);
    if (me.contents_.size() < me.at_ + count) me.contents_.resize(me.at_ + count);
    for (size_t i = 0; i < count; ++i) me.contents_[me.at_ + i] = static_cast<char>(std::toupper(from[i]));
    me.at_ += count;
    return static_cast<ssize_t>(count);
  }
  static int seek(void* cookie, off64_t* offset, int whence) {
    auto& me = self(cookie);
    const off64_t base = whence == SEEK_SET   ? 0
                         : whence == SEEK_CUR ? static_cast<off64_t>(me.at_)
                                              : static_cast<off64_t>(me.contents_.size());
    if (base + *offset < 0) return -1;
    me.at_ = static_cast<size_t>(*offset += base);
    return 0;
  }

  std::string contents_;
  size_t at_ = 0;
};

class SecondStreamTest : public ::testing::Test {
 protected:
  void SetUp() override { posix_store().open(path, Access::fresh)->write_at(bytes("0123456789"), 0); }
  std::string on_disk() const { return read_text(*posix_store().open(path, Access::read), 0, 99); }

  TemporaryDirectory directory;
  const std::string path = directory / "a";
};

TEST_F(SecondStreamTest, AFilterWithoutDescriptorTakesOver) {
  FilterStream filter("0123456789");
  StdioHandle handle(*posix_store().open(path, Access::read), true, true);
  ASSERT_LT(::fileno(filter.stream), 0);
  std::fputs("ab", handle.stream());
  handle.use_stream(filter.stream);
  EXPECT_EQ(handle.second_stream(), filter.stream);
  EXPECT_EQ(on_disk(), "ab23456789") << "pending output of the own stream";

  EXPECT_EQ(handle.position(), 0);
  handle.move_to(4);
  EXPECT_EQ(handle.write(bytes("xyz")), 3u);
  EXPECT_EQ(filter.contents(), "0123456789") << "nothing was pending";
  EXPECT_EQ(handle.position(), 7);
  EXPECT_EQ(filter.contents(), "0123XYZ789");
  std::fputs("q", filter.stream);
  handle.sync();
  EXPECT_EQ(filter.contents(), "0123XYZQ89");
  handle.move_to(3);
  Bytes buffer(3);
  EXPECT_EQ(handle.read(buffer), 3u);
  EXPECT_EQ(text(buffer), "3xy");
  EXPECT_EQ(handle.position(), 6);

  handle.use_own_stream();
  EXPECT_EQ(handle.second_stream(), nullptr);
  EXPECT_EQ(handle.position(), 2);
  handle.close();
  EXPECT_EQ(on_disk(), "ab23456789");
}

TEST_F(SecondStreamTest, LeavingItFlushesItButDoesNotCloseIt) {
  FilterStream filter("");
  StdioHandle handle(*posix_store().open(path, Access::read), true, true);
  handle.use_stream(filter.stream);
  handle.write(bytes("abc"));
  handle.use_own_stream();
  EXPECT_EQ(filter.contents(), "ABC");
  handle.use_own_stream();
  handle.use_stream(filter.stream);
  handle.close();
  EXPECT_EQ(std::fputs("more", filter.stream) >= 0, true);
  std::fflush(filter.stream);
  EXPECT_EQ(filter.contents(), "ABCMORE");
}

TEST_F(SecondStreamTest, ItsFailuresAreReported) {
  StdioHandle handle(*posix_store().open(path, Access::read), true, false);
  FILE* const full = std::fopen("/dev/full", "w");
  ASSERT_NE(full, nullptr);
  handle.use_stream(full);
  handle.write(bytes("lost"));
  EXPECT_EQ(error_of([&] { handle.flush(); }).code(), Code::no_space);
  EXPECT_TRUE(handle.failed());
  handle.write(bytes("lost as well"));
  EXPECT_THROW(handle.use_own_stream(), Error);
  EXPECT_EQ(handle.second_stream(), nullptr);
  EXPECT_FALSE(handle.failed());
  std::fclose(full);
  EXPECT_EQ(error_of([&] { handle.use_stream(nullptr); }).code(), Code::invalid_argument);

  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  FILE* const pipe = ::fdopen(ends[1], "w");
  handle.use_stream(pipe);
  EXPECT_EQ(error_of([&] { handle.position(); }).errno_value(), ESPIPE);
  EXPECT_EQ(error_of([&] { handle.move_to(1); }).errno_value(), ESPIPE);
  handle.use_own_stream();
  std::fclose(pipe);
  ::close(ends[0]);
}

}  // namespace
}  // namespace sheaf::testing::stdio_second_stream_test
