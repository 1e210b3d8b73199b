// A new file that replaces or copies an old one must have the same attributes for its users.
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "sfio/striped_store.hpp"
#include "storage/decorators/shared_handles.hpp"
#include "testing.hpp"

namespace sheaf::testing::file_attributes_test {
namespace {

class FileAttributesTest : public ::testing::Test {
 protected:
  struct stat made(const std::string& name, mode_t mode) {
    std::ofstream(directory / name) << name;
    ::chmod((directory / name).c_str(), mode);
    return of(name);
  }
  struct stat of(const std::string& name) const {
    struct stat found {};
    EXPECT_EQ(::stat((directory / name).c_str(), &found), 0) << name;
    return found;
  }
  mode_t mode_of(const std::string& name) const { return of(name).st_mode & 07777; }
  std::string attribute(const std::string& name, const char* key) const {
    std::array<char, 100> value;
    const ssize_t length = ::getxattr((directory / name).c_str(), key, value.data(), value.size());
    return length < 0 ? "none" : std::string(value.data(), static_cast<size_t>(length));
  }
  void copy_attributes(const std::string& path, const std::string& like,
                       ReplaceState state = ReplaceState::done) {
    store.copy_attributes(directory / path, directory / like, state);
  }

  TemporaryDirectory directory;
  Store& store = posix_store();
};

// Returns an access control list that grants user 4711 `rights` (rwx as bits), in the format of Linux.
std::string list_for_4711(uint16_t rights) {
  struct AclEntry {
    uint16_t tag, rights;
    uint32_t id;
  };
  const uint32_t version = 2, none = ~0u;
  const std::array entries{AclEntry{0x01, 6, none}, AclEntry{0x02, rights, 4711}, AclEntry{0x04, 0, none},
                           AclEntry{0x10, rights, none}, AclEntry{0x20, 0, none}};
  std::string list(reinterpret_cast<const char*>(&version), sizeof version);
  return list.append(reinterpret_cast<const char*>(entries.data()), sizeof entries);
}

TEST_F(FileAttributesTest, ModeWhateverTheUmaskIs) {
  const mode_t before = ::umask(077);
  for (const mode_t mode : {0600u, 0640u, 0664u, 0444u, 0755u}) {
    made("old", mode);
    made("new", 0600);
    copy_attributes("new", "old");
    EXPECT_EQ(mode_of("new"), mode);
    std::filesystem::remove(directory / "old");
    std::filesystem::remove(directory / "new");
  }
  ::umask(before);
}

TEST_F(FileAttributesTest, NobodyElseMayOpenItUntilItIsDone) {
  made("old", 0664);
  made("new", 0644);
  copy_attributes("new", "old", ReplaceState::begun);
  EXPECT_EQ(mode_of("new"), 0600u);
  copy_attributes("new", "old");
  EXPECT_EQ(mode_of("new"), 0664u);
  made("other", 0644);
  copy_attributes("other", "nothing", ReplaceState::begun);
  EXPECT_EQ(mode_of("other"), 0644u);
}

TEST_F(FileAttributesTest, OwnerAndGroup) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  made("old", 04750);
  ASSERT_EQ(::chown((directory / "old").c_str(), 1234, 4321), 0);
  ::chmod((directory / "old").c_str(), 04750);
  made("new", 0600);
  copy_attributes("new", "old");
  EXPECT_EQ(of("new").st_uid, 1234u);
  EXPECT_EQ(of("new").st_gid, 4321u);
  EXPECT_EQ(mode_of("new"), 04750u);
}

// Runs in a child, since a process cannot regain root privileges.
TEST_F(FileAttributesTest, WhoMayNotGiveAFileAwayGivesNobodyMore) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  made("old", 06764);
  ASSERT_EQ(::chown((directory / "old").c_str(), 1234, 4321), 0);
  ::chmod((directory / "old").c_str(), 06764);
  ::chmod(directory.path().c_str(), 0777);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setgid(1000) != 0 || ::setuid(1000) != 0) ::_exit(1);
    made("new", 0600);
    copy_attributes("new", "old");
    ::_exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  EXPECT_EQ(of("new").st_uid, 1000u);
  EXPECT_EQ(of("new").st_gid, 1000u);
  EXPECT_EQ(mode_of("new"), 0744u);  // the group gets the rights of others, and the owner stays
}

TEST_F(FileAttributesTest, ExtendedAttributesAndAccessLists) {
  made("old", 0640);
  const std::string old = directory / "old";
  if (::setxattr(old.c_str(), "user.project", "fusion", 6, 0) != 0)
    GTEST_SKIP() << "no extended attributes here";
  made("new", 0600);
  copy_attributes("new", "old");
  EXPECT_EQ(attribute("new", "user.project"), "fusion");
  const std::string list = list_for_4711(6);
  if (::setxattr(old.c_str(), "system.posix_acl_access", list.data(), list.size(), 0) != 0)
    GTEST_SKIP() << "no access control lists here";
  copy_attributes("new", "old");
  EXPECT_EQ(attribute("new", "system.posix_acl_access"), list);
  EXPECT_EQ(mode_of("new"), mode_of("old"));
}

TEST_F(FileAttributesTest, AListThatTheDirectoryGaveTheNewFileGoes) {
  made("old", 0600);
  const std::string list = list_for_4711(6);
  if (::setxattr(directory.path().c_str(), "system.posix_acl_default", list.data(), list.size(), 0) != 0)
    GTEST_SKIP() << "no access control lists here";
  made("new", 0660);
  ASSERT_NE(attribute("new", "system.posix_acl_access"), "none");
  copy_attributes("new", "old");
  EXPECT_EQ(attribute("new", "system.posix_acl_access"), "none");
  EXPECT_EQ(mode_of("new"), 0600u);
}

TEST_F(FileAttributesTest, LinksAreNeverFollowedToTheNewFile) {
  made("old", 0666);
  made("private", 0600);
  ::symlink("private", (directory / "new").c_str());
  copy_attributes("new", "old");
  std::filesystem::create_hard_link(directory / "private", directory / "second");
  copy_attributes("second", "old");
  EXPECT_EQ(mode_of("private"), 0600u);
}

TEST_F(FileAttributesTest, NewFilesGoWhereLinksLead) {
  std::filesystem::create_directory(directory / "far");
  ::symlink("far/b", (directory / "a").c_str());
  ::symlink((directory / "c").c_str(), (directory / "far/b").c_str());
  SharedHandles shared(sfio::any_store());
  for (Store* const some : {&store, &sfio::any_store(), static_cast<Store*>(&shared)}) {
    EXPECT_EQ(some->target_of(directory / "a"), directory / "c");  // nonexistent
    EXPECT_EQ(some->target_of(directory / "far"), directory / "far");
    EXPECT_EQ(some->target_of(directory / "missing"), directory / "missing");
  }
  ::symlink("loop", (directory / "loop").c_str());
  EXPECT_EQ(error_of([&] { store.target_of(directory / "loop"); }).errno_value(), ELOOP);
}

}  // namespace
}  // namespace sheaf::testing::file_attributes_test
