// Parsing of the open-mode string.
#include "multifile/options/open_mode.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.hpp"

namespace sheaf::open_mode_test {

using namespace multifile;

namespace {

TEST(OpenMode, DirectionWords) {
  for (const char* words : {"w", "wb", "bw", "r,w", "w,r", "posix,bw", ",,wb,", "br,wb"})
    EXPECT_EQ(parse_open_mode(words).direction, OpenDirection::write) << words;
  for (const char* words : {"r", "rb", "br", "ansi,r"})
    EXPECT_EQ(parse_open_mode(words).direction, OpenDirection::read) << words;
  for (const char* words : {"", "W", "RB", "write", "posix", "w b"})
    EXPECT_EQ(parse_open_mode(words).direction, OpenDirection::none) << words;
}

// Returns the words of a text like known_words(): one per alternative, with a value for capital letters.
std::vector<std::string> words_in(std::string text) {
  for (const auto& [name, value] : {std::pair<std::string, std::string>{"BYTES", "4096"},
                                    {"LEVEL", "1"},
                                    {"@TABLE", "@table"},
                                    {"EXPRESSION", "node.*"},
                                    {"=N", "=3"},
                                    {"|N", "|3"}})
    for (size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += value.size())
      text.replace(at, name.size(), value);
  std::vector<std::string> words;
  const auto add_values = [&](const std::string& key, std::string values) {
    for (size_t end = 0; end != std::string::npos; values.erase(0, end + 1)) {
      end = values.find('|');
      const std::string value = values.substr(0, end);
      const size_t optional = value.find('[');
      words.push_back(key + value.substr(0, optional));
      if (optional != std::string::npos)
        words.push_back(key + value.substr(0, optional) +
                        value.substr(optional + 1, value.find(']') - optional - 1));
    }
  };
  for (size_t end = 0; end != std::string::npos; text.erase(0, end + 2)) {
    end = text.find(", ");
    const std::string entry = text.substr(0, end);
    const size_t equals = entry.find('=');
    if (const size_t bracket = entry.find('['); bracket < equals) {
      words.push_back(entry.substr(0, bracket));
      add_values(entry.substr(0, bracket) + "=", entry.substr(equals + 1, entry.size() - equals - 2));
    } else if (equals != std::string::npos) {
      add_values(entry.substr(0, equals + 1), entry.substr(equals + 1));
    } else {
      add_values("", entry);
    }
  }
  return words;
}

TEST(OpenMode, AllWordsAreOfferedAndUnderstood) {
  const std::vector<std::string> offered = words_in(std::string(known_words()));
  for (const std::string& word : offered) {
    EXPECT_EQ(word.find_first_of("[]|ABCDEFGHIJKLMNOPQRSTUVWXYZ"), std::string::npos) << word;
    EXPECT_NO_THROW(EXPECT_TRUE(parse_open_mode("strict," + word).unknown.empty()) << word) << word;
  }
  for (const char* const word : {"r",
                                 "rb",
                                 "br",
                                 "w",
                                 "wb",
                                 "bw",
                                 "a",
                                 "append",
                                 "ansi",
                                 "posix",
                                 "fileptr=stream",
                                 "durable",
                                 "atomic",
                                 "steal",
                                 "term=flush",
                                 "journal=off",
                                 "checksums=on",
                                 "strict",
                                 "endianness=big",
                                 "keyval",
                                 "keyval=inline",
                                 "files=auto",
                                 "files=3",
                                 "files=@table",
                                 "iotasks=3",
                                 "buffer=block",
                                 "buffer=4096",
                                 "compress=zstd",
                                 "compress=zstd:1",
                                 "compress=gzip",
                                 "compress=lz4",
                                 "compress=none",
                                 "shuffle=3",
                                 "frame=4096",
                                 "compress_threads=3",
                                 "collective",
                                 "collective=off",
                                 "collsize=3",
                                 "collectors=3",
                                 "cmerge",
                                 "collectivemerge",
                                 "collmsa",
                                 "collector-hosts=node.*",
                                 "colldebug=3",
                                 "buddy",
                                 "buddy=3"})
    EXPECT_EQ(std::ranges::count(offered, word), 1) << word;
}

TEST(OpenMode, TheLastOfAnsiAndPosixWins) {
  EXPECT_FALSE(parse_open_mode("w").posix);
  EXPECT_TRUE(parse_open_mode("w,posix").posix);
  EXPECT_FALSE(parse_open_mode("w,posix,ansi").posix);
  EXPECT_TRUE(parse_open_mode("ansi,w,posix").posix);
}

// The original library compares its words including their blanks, and ignores words that do not match. Sheaf
// must do so too, so that existing programs get the same files.
TEST(OpenMode, ClassicWordsWithBlanksAreIgnoredAndKept) {
  const std::vector<std::string> words = {
      " posix",           "ansi ",    "\tcollective",   " collsize=2", " cmerge",
      " collectivemerge", " collmsa", " keyval=inline", " keyval",     " endianness=big",
      " buddy",           " buddy=2", " sionfwd"};
  std::string list = "wb";
  for (const std::string& word : words) list += "," + word;
  const OpenMode mode = parse_open_mode(list);
  EXPECT_EQ(mode.unknown, words);
  EXPECT_FALSE(mode.posix);
  EXPECT_EQ(mode.userdata_order, native_order);
  EXPECT_EQ(mode.keyval, format::KeyvalMode::not_set);
  const CollectiveMode& c = mode.collective;
  EXPECT_FALSE(c.wanted || c.merge || c.renumber);
  EXPECT_EQ(c.tasks, 0);
  EXPECT_EQ(c.buddies, 0);
  EXPECT_EQ(parse_open_mode("r, wb").direction, OpenDirection::read);
  EXPECT_EQ(parse_open_mode(" wb").direction, OpenDirection::none);
}

TEST(OpenMode, BlanksBehindAnEqualsSignAreOfTheValue) {
  EXPECT_EQ(parse_open_mode("w,endianness=big ").userdata_order, ByteOrder::little);
  EXPECT_EQ(parse_open_mode("w,endianness= big").userdata_order, ByteOrder::little);
  EXPECT_EQ(parse_open_mode("w,keyval=inline ").keyval, format::KeyvalMode::not_set);
  EXPECT_EQ(parse_open_mode("w,keyval= inline").unknown, std::vector<std::string>{"keyval= inline"});
  EXPECT_EQ(parse_open_mode("w,collsize= 4 ").collective.tasks, 4);
  EXPECT_EQ(parse_open_mode("w,buddy=2 ").collective.buddies, 2);
}

TEST(OpenMode, BlanksAroundWordsOfSheafMeanNothing) {
  const OpenMode mode =
      parse_open_mode("w, durable ,\tfiles=3 , journal=off, collective=4, buffered", "posix, cmerge");
  EXPECT_TRUE(mode.unknown.empty());
  EXPECT_TRUE(mode.durable);
  EXPECT_EQ(mode.files, 3);
  EXPECT_FALSE(mode.journal);
  EXPECT_EQ(mode.collective.forced_tasks, 4);
  EXPECT_TRUE(mode.posix);  // words from the environment are Sheaf's own, so blanks do not matter
  EXPECT_TRUE(mode.collective.merge);
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
  for (const char* words :
       {"w,files=0", "w,files=-1", "w,files=@", "w,iotasks", "w,iotasks=-1", "w,iotasks=two",
        "w,iotasks=3000M", "w,files=x", "w,files", "w,files=2147483648", "w,buffer=2G", "w,buffer=-1",
        "w,buffer=x", "w,buffer=1T", "w,buffer=9999999999999G", "w,sionfwd"})
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
  EXPECT_EQ(mode.direction, OpenDirection::read);
  EXPECT_TRUE(mode.posix);
  EXPECT_TRUE(mode.strict);
  EXPECT_EQ(parse_open_mode("posix", "r").direction, OpenDirection::none);
}

}  // namespace
}  // namespace sheaf::open_mode_test
