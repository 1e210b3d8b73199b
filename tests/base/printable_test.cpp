#include "base/printable.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace sheaf::printable_test {
namespace {

TEST(Printable, WhatCanBeSeenStays) {
  for (const char* text : {"", "a.sion", "/tmp/x y/a'b\\n\"c", "Größe.sion", "データ", "\xf0\x9f\x93\x81"})
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, ControlCharactersAreEscaped) {
  EXPECT_EQ(printable("a\nstate complete\r\t"), "a\\nstate complete\\r\\t");
  EXPECT_EQ(printable("\x1b[2J\x07\x7f"), "\\x1b[2J\\x07\\x7f");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "\\u009b2J")
      << "CSI as one character";
}

TEST(Printable, CharactersThatNobodySeesOrThatTurnOthersAroundAreEscaped) {
  EXPECT_EQ(printable("a\xe2\x80\xae"
                      "b"),
            "a\\u202eb");
  EXPECT_EQ(printable("\xe2\x81\xa6\xe2\x80\x8f\xd8\x9c"), "\\u2066\\u200f\\u061c");
  EXPECT_EQ(printable("\xe2\x80\xa8\xef\xbb\xbf\xe2\x80\x8b"), "\\u2028\\ufeff\\u200b");
  EXPECT_EQ(printable("\xf3\xa0\x80\x81"), "\\U000e0001");
}

TEST(Printable, BytesThatAreNoUtf8AreEscaped) {
  EXPECT_EQ(printable("\xff\x80"), "\\xff\\x80");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf") << "overlong";
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
  EXPECT_EQ(printable("\xe2\x80"), "\\xe2\\x80") << "cut off";
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "beyond U+10FFFF";
}

TEST(Printable, EscapedTwiceIsEscapedOnce) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  EXPECT_EQ(printable(printable(all)), printable(all));
}

TEST(Printable, MessagesOfErrorsAre) {
  const std::string name = "x\x1b[31m\nstate complete";
  const std::string shown = "x\\x1b[31m\\nstate complete";
  EXPECT_EQ(std::string(file_error(Code::damaged, name, "is bad").what()), "'" + shown + "': is bad");
  EXPECT_EQ(std::string(os_error("cannot open", name, 2).what()).find("cannot open '" + shown + "'"), 0u);
  EXPECT_EQ(std::string(Error(Code::damaged, "task of '" + name + "'").what()), "task of '" + shown + "'");
}

}  // namespace
}  // namespace sheaf::printable_test
