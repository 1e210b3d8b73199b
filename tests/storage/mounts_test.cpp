// Contents of /proc/self/mountinfo: the mount of a path, names with blanks, options.
#include "storage/filesystem/mounts.hpp"

#include "testing.hpp"

namespace sheaf::testing::mounts_test {
namespace {

const char* const several =
    "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
    "30 27 0:40 / /data rw - xfs /dev/vdb rw\n"
    "not a line of mountinfo\n"
    "31 30 0:41 / /data/nfs\\040home rw,noatime master:2 shared:7 - nfs4 filer:/a\\134b "
    "rw,vers=4.2,local_lock=none\n"
    "32 27 0:42 / /over rw - tmpfs first rw\n"
    "33 32 0:43 / /over rw - tmpfs second rw\n";

TEST(Mounts, TheLongestMountPointAboveAPathIsItsMount) {
  const auto mounts = parse_mounts(several);
  ASSERT_EQ(mounts.size(), 5U);
  EXPECT_EQ(mount_at(mounts, "/home/u")->type, "ext4");
  EXPECT_EQ(mount_at(mounts, "/data")->type, "xfs");
  EXPECT_EQ(mount_at(mounts, "/data/x/y")->type, "xfs");
  EXPECT_EQ(mount_at(mounts, "/database")->type, "ext4");
  EXPECT_EQ(mount_at(mounts, "/data/nfs home/a")->type, "nfs4");
  EXPECT_EQ(mount_at(mounts, "relative"), nullptr);
}

TEST(Mounts, OfSeveralOnOnePointTheLastIsSeen) {
  EXPECT_EQ(mount_at(parse_mounts(several), "/over/a")->source, "second");
}

TEST(Mounts, OctalNumbersInNamesAreTheirCharacters) {
  const Mount mount = parse_mounts(several)[2];
  EXPECT_EQ(mount.point, "/data/nfs home");
  EXPECT_EQ(mount.source, "filer:/a\\b");
  EXPECT_EQ(parse_mounts("1 1 0:1 / /tab\\011\\012x rw - t s rw").at(0).point, "/tab\t\nx");
  EXPECT_EQ(parse_mounts("1 1 0:1 / /no\\09x\\8\\400 rw - t s rw").at(0).point, "/no\\09x\\8\\400");
}

TEST(Mounts, OptionsAreThoseOfTheMountAndOfTheFileSystem) {
  const Mount mount = parse_mounts(several)[2];
  EXPECT_EQ(mount.id, 31);
  EXPECT_EQ(mount.device, "0:41");
  EXPECT_TRUE(mount.has("noatime"));
  EXPECT_EQ(mount.option("vers"), "4.2");
  EXPECT_EQ(mount.option("rw"), "");
  EXPECT_FALSE(mount.has("ver"));
  EXPECT_FALSE(mount.has("local"));
}

TEST(Mounts, OnADirectoryIsOnlyWhatIsMountedRightThere) {
  ASSERT_TRUE(mounted_on("/proc").has_value());
  EXPECT_EQ(mounted_on("/proc")->type, "proc");
  EXPECT_FALSE(mounted_on("/proc/self").has_value());
  EXPECT_FALSE(mounted_on("proc").has_value());
}

TEST(Mounts, APathIsFoundInItsMount) {
  const TemporaryDirectory directory;
  const auto mount = mount_of(directory.path());
  ASSERT_TRUE(mount.has_value());
  EXPECT_TRUE(std::filesystem::canonical(directory.path())
                  .string()
                  .starts_with(mount->point == "/" ? "/" : mount->point + "/"));
  EXPECT_EQ(mount_of("/proc/self")->type, "proc");
  EXPECT_FALSE(mount_of(directory / "missing").has_value());
}

}  // namespace
}  // namespace sheaf::testing::mounts_test
