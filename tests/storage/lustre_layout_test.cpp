// Stripes of new files on Lustre: the layout passed to the file system, and the calls that set it.
#include "storage/posix/lustre_layout.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "storage/filesystem/traits.hpp"
#include "testing.hpp"

namespace sheaf::testing::lustre_layout_test {
namespace {

constexpr int64_t MiB = 1 << 20;

TEST(LustreLayout, IsWhatTheFileSystemTellsOfAFile) {
  FileSystemTraits traits;
  ASSERT_TRUE(apply_lustre_layout(traits, lustre_layout({4 * MiB, 8})));
  EXPECT_EQ(traits.stripe_size, 4 * MiB);
  EXPECT_EQ(traits.stripes, 8);
  ASSERT_TRUE(apply_lustre_layout(traits, lustre_layout({100'000, 3})));
  EXPECT_EQ(traits.stripe_size, 128 << 10) << "whole 64 KiB";
  ASSERT_TRUE(apply_lustre_layout(traits, lustre_layout({INT64_MAX, 1'000'000})));
  EXPECT_EQ(traits.stripe_size, (int64_t{1} << 32) - (64 << 10));
  EXPECT_EQ(traits.stripes, 2000);
}

TEST(LustreLayout, WhatIsNotRequestedIsLeftToTheDirectory) {
  const auto layout = lustre_layout({0, 5});
  const uint32_t size = 0;
  const uint16_t any = 0xFFFF;
  EXPECT_EQ(std::memcmp(layout.data() + 24, &size, sizeof size), 0);
  EXPECT_EQ(std::memcmp(layout.data() + 30, &any, sizeof any), 0) << "on any servers";
}

TEST(LustreLayout, IsSetByIoctlOrElseByTheAttribute) {
  for (const bool takes_control : {true, false})
    for (const bool takes_attribute : {true, false}) {
      std::string called;
      const auto answer = [&](const char* name, bool takes, int fd, std::span<const std::byte> layout) {
        called += name;
        EXPECT_EQ(fd, 7);
        EXPECT_TRUE(std::ranges::equal(layout, lustre_layout({MiB, 2})));
        errno = ENOTTY;
        return takes ? 0 : -1;
      };
      const LayoutCalls calls{
          [&](int fd, auto layout) { return answer("control ", takes_control, fd, layout); },
          [&](int fd, auto layout) { return answer("attribute ", takes_attribute, fd, layout); }};
      EXPECT_EQ(set_lustre_layout(7, {MiB, 2}, calls), takes_control || takes_attribute);
      EXPECT_EQ(called, takes_control ? "control " : "control attribute ");
    }
}

// The calls are specific to Lustre. On other file systems they must fail and create no file.
TEST(LustreLayout, IsOfNoConcernElsewhere) {
  const TemporaryDirectory directory;
  const std::string path = directory / "a";
  if (posix_store().traits(directory.path()).kind == FileSystem::lustre) GTEST_SKIP();
  EXPECT_FALSE(posix_store().make_in_stripes(path, {MiB, 2}));
  EXPECT_FALSE(posix_store().status(path).exists);
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | lustre_layout_follows, 0600);
  ASSERT_GE(fd, 0);
  EXPECT_FALSE(set_lustre_layout(fd, {MiB, 2}));
  ::close(fd);
}

}  // namespace
}  // namespace sheaf::testing::lustre_layout_test
