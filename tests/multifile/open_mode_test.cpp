// The open-mode string.
#include "multifile/open_mode.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace sheaf {
namespace {

TEST(OpenMode, DirectionWords) {
  for (const char* words : {"w", "wb", "bw", "r,w", "w,r", "posix,bw", ",,wb,", "br,wb"})
    EXPECT_EQ(parse_open_mode(words).direction, Direction::write) << words;
  for (const char* words : {"r", "rb", "br", "ansi,r"}) EXPECT_EQ(parse_open_mode(words).direction, Direction::read) << words;
  for (const char* words : {"", "W", "RB", "write", "posix", "w b"})
    EXPECT_EQ(parse_open_mode(words).direction, Direction::none) << words;
}

TEST(OpenMode, TheLastOfAnsiAndPosixWins) {
  EXPECT_FALSE(parse_open_mode("w").posix);
  EXPECT_TRUE(parse_open_mode("w,posix").posix);
  EXPECT_FALSE(parse_open_mode("w,posix,ansi").posix);
  EXPECT_TRUE(parse_open_mode("ansi,w,posix").posix);
  EXPECT_TRUE(parse_open_mode("wb, posix").posix);
}

TEST(OpenMode, ByteOrderOfUserData) {
  EXPECT_EQ(parse_open_mode("w").userdata_order, native_order);
  EXPECT_EQ(parse_open_mode("w,endianness=big").userdata_order, ByteOrder::big);
  EXPECT_EQ(parse_open_mode("w,endianness=little").userdata_order, ByteOrder::little);
  EXPECT_EQ(parse_open_mode("w,endianness").userdata_order, ByteOrder::little);
  EXPECT_EQ(parse_open_mode("w,endianness=other").userdata_order, ByteOrder::little);
}

Code code_of(std::string_view words, std::string_view additions = {}) {
  try {
    parse_open_mode(words, additions);
    return Code::ok;
  } catch (const Error& error) {
    return error.code();
  }
}

TEST(OpenMode, KeyValueModes) {
  using format::KeyvalMode;
  EXPECT_EQ(parse_open_mode("w").keyval, KeyvalMode::not_set);
  for (const char* words : {"w,keyval", "w,keyval=", "w,keyval=default", "w,keyval=inline"})
    EXPECT_EQ(parse_open_mode(words).keyval, KeyvalMode::inline_) << words;
  EXPECT_EQ(parse_open_mode("w,keyval=none").keyval, KeyvalMode::none);
  EXPECT_EQ(code_of("w,keyval=meta"), Code::invalid_argument);
  EXPECT_EQ(code_of("w,keyval=hash"), Code::invalid_argument);
}

TEST(OpenMode, FilesAndBuffers) {
  EXPECT_EQ(parse_open_mode("w,files=auto").file_policy, FilePolicy::automatic);
  EXPECT_EQ(parse_open_mode("w,files=node").file_policy, FilePolicy::per_node);
  EXPECT_EQ(parse_open_mode("w,files=7").files, 7);
  EXPECT_EQ(parse_open_mode("w, files=@a/b=c ").file_policy, FilePolicy::table);
  EXPECT_EQ(parse_open_mode("w, files=@a/b=c ").table, "a/b=c");
  EXPECT_EQ(parse_open_mode("w").io_tasks, 0);
  EXPECT_EQ(parse_open_mode("w,iotasks=4").io_tasks, 4);
  EXPECT_EQ(parse_open_mode("w,iotasks=4", "iotasks=0").io_tasks, 0);
  EXPECT_EQ(parse_open_mode("w,buffer=0").buffer_bytes, 0);
  EXPECT_EQ(parse_open_mode("w,buffer=4k").buffer_bytes, 4096);
  EXPECT_EQ(parse_open_mode("w,buffer=1G").buffer_bytes, int64_t{1} << 30);
  for (const char* words : {"w,files=0", "w,files=-1", "w,files=@", "w,iotasks", "w,iotasks=-1", "w,iotasks=two", "w,iotasks=3000M", "w,files=x", "w,files", "w,files=2147483648", "w,buffer=2G",
                            "w,buffer=-1", "w,buffer=x", "w,buffer=1T", "w,buffer=9999999999999G", "w,sionfwd"})
    EXPECT_EQ(code_of(words), Code::invalid_argument) << words;
}

TEST(OpenMode, UnknownWordsAreKeptOrRefused) {
  EXPECT_EQ(parse_open_mode("w,foo,bar=1,posix").unknown, (std::vector<std::string>{"foo", "bar=1"}));
  EXPECT_TRUE(parse_open_mode("w,compress,buffered").unknown.empty());
  EXPECT_EQ(code_of("w,foo,strict"), Code::invalid_argument);
  EXPECT_EQ(code_of("w,strict"), Code::ok);
}

TEST(OpenMode, AdditionsDoNotChangeTheDirection) {
  const OpenMode mode = parse_open_mode("r,ansi", "w,posix,strict");
  EXPECT_EQ(mode.direction, Direction::read);
  EXPECT_TRUE(mode.posix);
  EXPECT_TRUE(mode.strict);
  EXPECT_EQ(parse_open_mode("posix", "r").direction, Direction::none);
}

}  // namespace
}  // namespace sheaf
