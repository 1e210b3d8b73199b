// Tests programs that change their current directory while multifiles are open. All calls must still use the
// files that were opened.
#include <fcntl.h>
#include <unistd.h>

#include <optional>

#include "api/api_fixture.hpp"
#include "support/current_directory.hpp"

namespace sheaf::test::directories_test {
namespace {

class Directories : public Api {
 protected:
  void SetUp() override {
    Api::SetUp();
    places_.emplace(path("directories"));
    for (const char* name : {"a", "a.journal", "a.000001", "a_BUDDY_00"}) places_->plant(name);
    before_ = places_->planted();
  }
  void TearDown() override {
    EXPECT_EQ(places_->planted(), before_);
    places_.reset();
    Api::TearDown();
  }
  const TwoDirectories& places() const { return *places_; }
  std::vector<std::string> names_here() const {
    std::vector<std::string> names;
    for (const auto& [name, contents] : TwoDirectories::contents(places().here)) names.push_back(name);
    return names;
  }

  static void put(int sid, int64_t from, int64_t bytes) {
    EXPECT_EQ(sion_fwrite(content(0, from, bytes).data(), 1, static_cast<size_t>(bytes), sid),
              static_cast<size_t>(bytes));
  }
  void expect_content(int64_t bytes, const char* mode = "rb") const {
    places().go_here();
    const int sid = open("a", nullptr, mode);
    places().go_elsewhere();
    std::vector<std::byte> found(static_cast<size_t>(bytes) + 1);
    EXPECT_EQ(sion_fread(found.data(), 1, found.size(), sid), static_cast<size_t>(bytes));
    found.resize(static_cast<size_t>(bytes));
    EXPECT_EQ(found, content(0, 0, bytes));
    EXPECT_EQ(sion_close(sid), 1);
    places().go_here();
  }

 private:
  std::optional<TwoDirectories> places_;
  std::map<std::string, std::string> before_;
};

TEST_F(Directories, WritingFlushingAndClosing) {
  for (const char* mode :
       {"wb", "wb,durable", "wb,atomic", "wb,atomic,durable", "wb,journal=off", "wb,keyval=none,buffer=0"}) {
    const int sid = create("a", {512, 512}, 512, nullptr, mode);
    places().go_elsewhere();
    put(sid, 0, 300);
    EXPECT_EQ(sion_flush(sid), 1) << mode;
    put(sid, 300, 1000);
    EXPECT_EQ(sion_close(sid), 1) << mode << sheaf_last_error();
    expect_content(1300);
    EXPECT_EQ(names_here(), std::vector<std::string>{"a"}) << mode;
  }
}

TEST_F(Directories, WhatAnUnclosedFileHasFlushedIsTold) {
  const int sid = create("a", {512});
  places().go_elsewhere();
  put(sid, 0, 1300);
  EXPECT_EQ(sion_flush(sid), 1);
  for (int tries = 0; tries < 2000 && names_here().size() < 3; ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // a background thread creates the lease
  EXPECT_EQ(names_here(), (std::vector<std::string>{"a", "a.journal", "a.lease"}));
  expect_content(1300);
  EXPECT_EQ(sion_close(sid), 1);
  expect_content(1300);
}

TEST_F(Directories, TheStreamOfTheProgram) {
  for (const char* posix : {"", ",posix"}) {
    const std::string words = posix;
    const int sid = create("a", {2000}, 512, nullptr, ("wb" + words).c_str());
    put(sid, 0, 100);
    places().go_elsewhere();
    const auto more = content(0, 100, 50);
    if (words.empty()) {
      EXPECT_EQ(std::fwrite(more.data(), 1, more.size(), sion_get_fp(sid)), more.size());
    } else {
      EXPECT_EQ(::write(sion_get_fd(sid), more.data(), more.size()), std::ssize(more));
    }
    EXPECT_EQ(sion_close(sid), 1);
    expect_content(150);
    const int back = open("a", nullptr, ("rb" + words).c_str());
    places().go_elsewhere();
    std::vector<std::byte> found(150);
    if (words.empty()) {
      EXPECT_EQ(std::fread(found.data(), 1, found.size(), sion_get_fp(back)), found.size());
    } else {
      EXPECT_EQ(::read(sion_get_fd(back), found.data(), found.size()), std::ssize(found));
    }
    EXPECT_EQ(found, content(0, 0, 150));
    EXPECT_EQ(sion_close(back), 1);
    places().go_here();
  }
}

TEST_F(Directories, Appending) {
  const int sid = create("a", {512});
  put(sid, 0, 100);
  EXPECT_EQ(sion_close(sid), 1);
  const int again = open("a", nullptr, "append");
  ASSERT_GE(again, 0);
  places().go_elsewhere();
  put(again, 100, 2000);
  EXPECT_EQ(sion_flush(again), 1);
  put(again, 2100, 100);
  EXPECT_EQ(sion_close(again), 1) << sheaf_last_error();
  expect_content(2200);
  EXPECT_EQ(names_here(), std::vector<std::string>{"a"});
}

TEST_F(Directories, ReadingOneTask) {
  const int sid = create("a", {512, 512});
  put(sid, 0, 900);
  EXPECT_EQ(sion_close(sid), 1);
  FILE* stream = nullptr;
  const int back = open_rank("a", 0);
  places().go_elsewhere();
  std::vector<std::byte> found(512);
  EXPECT_EQ(sion_seek_fp(back, 0, 0, 0, &stream), 1);
  EXPECT_EQ(std::fread(found.data(), 1, 512, stream), 512u);
  EXPECT_EQ(found, content(0, 0, 512));
  EXPECT_EQ(sion_close(back), 1);
}

TEST_F(Directories, NamesAreToldAsTheyWereGiven) {
  const int sid = create("a", {512});
  places().go_elsewhere();
  std::filesystem::remove_all(places().here / "a");
  EXPECT_EQ(sion_get_fp(sid), nullptr);
  EXPECT_TRUE(last_error_has("'a'")) << sheaf_last_error();
  EXPECT_EQ(sion_close(sid), SION_NOT_SUCCESS) << "what was written is nowhere";
  EXPECT_TRUE(last_error_has("'a': was removed or replaced")) << sheaf_last_error();
}

// The header's name field of 1,024 bytes holds the name as the program passed it. A long path of the current
// directory must therefore not make the name too long.
TEST_F(Directories, LongDirectoriesDoNotMakeNamesTooLong) {
  for (int depth = 0; depth < 25; ++depth) {
    const std::string name(200, 'd');
    std::filesystem::create_directory(name);
    ASSERT_EQ(::chdir(name.c_str()), 0);
  }
  const int sid = create("a", {512}, 512, nullptr, "wb,atomic");
  ASSERT_GE(sid, 0) << sheaf_last_error();
  const int deep = ::open(".", O_PATH | O_DIRECTORY);
  places().go_elsewhere();
  put(sid, 0, 1300);
  EXPECT_EQ(sion_close(sid), 1) << sheaf_last_error();
  ASSERT_EQ(::fchdir(deep), 0);
  ::close(deep);
  const int back = open("a");
  EXPECT_EQ(sion_bytes_avail_in_block(back), 512);
  EXPECT_EQ(sion_close(back), 1);
}

TEST_F(Directories, ADirectoryThatIsRenamedMeanwhile) {
  const int sid = create("a", {512}, 512, nullptr, "wb,atomic");
  std::filesystem::rename(places().here, path("directories/moved"));
  std::filesystem::create_directory(places().here);
  places().go_elsewhere();
  put(sid, 0, 1300);
  EXPECT_EQ(sion_close(sid), 1) << sheaf_last_error();
  EXPECT_TRUE(names_here().empty());
  EXPECT_TRUE(std::filesystem::exists(path("directories/moved/a")));
}

}  // namespace
}  // namespace sheaf::test::directories_test
