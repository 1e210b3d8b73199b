// A set that gets its name takes the places of the files of an older one: what those were to their users
// stays.
#include <sys/stat.h>

#include "creation/temporary_name.hpp"
#include "storage/testing.hpp"
#include "support/crash_points.hpp"

namespace sheaf::test::rename_set_test {
namespace {

class RenameSet : public ::testing::Test {
 protected:
  void make(const std::string& name, std::string_view text, mode_t mode) const {
    std::filesystem::remove(directory / name);
    store.open(directory / name, Access::fresh)->write_at(testing::bytes(text), 0);
    ::chmod((directory / name).c_str(), mode);
  }
  std::string text(const std::string& name) const {
    return testing::read_text(*store.open(directory / name, Access::read), 0, 99);
  }
  mode_t mode(const std::string& name) const {
    struct stat found {};
    ::stat((directory / name).c_str(), &found);
    return found.st_mode & 07777;
  }

  testing::TemporaryDirectory directory;
  Store& store = posix_store();
};

TEST_F(RenameSet, EveryFileTakesAfterTheOneItReplaces) {
  std::filesystem::create_directory(directory / "far");
  const std::string temporary = temporary_name("a");
  for (const bool durable : {false, true}) {
    make("far/lead", "old", 0640);
    make("far/second", "old", 0604);
    make("a.000002", "old", 0660);
    std::filesystem::remove(directory / "a");
    std::filesystem::remove(directory / "a.000001");
    std::filesystem::create_symlink("far/lead", directory / "a");
    std::filesystem::create_symlink("far/second", directory / "a.000001");
    for (int k = 0; k < 3; ++k) make(format::physical_name(temporary, k), "new" + std::to_string(k), 0600);
    rename_set(store, directory / temporary, directory / "a", 3, durable);
    EXPECT_EQ(text("far/lead"), "new0");
    EXPECT_EQ(text("far/second"), "new1");
    EXPECT_EQ(text("a.000002"), "new2");
    EXPECT_EQ(std::filesystem::read_symlink(directory / "a"), "far/lead");
    EXPECT_EQ(std::filesystem::read_symlink(directory / "a.000001"), "far/second");
    EXPECT_EQ(mode("a"), 0640u);
    EXPECT_EQ(mode("a.000001"), 0604u);
    EXPECT_EQ(mode("a.000002"), 0660u);
  }
}

// After a failure on the way the call is made again; the old file 0 is gone by then.
TEST_F(RenameSet, ARepeatedCallKeepsWhatTheFirstHasTaken) {
  const std::string temporary = temporary_name("a");
  make("a", "old", 0640);
  std::filesystem::create_directory(directory / "a.000001");  // in the way
  for (int k = 0; k < 2; ++k) make(format::physical_name(temporary, k), "new", 0600);
  EXPECT_THROW(rename_set(store, directory / temporary, directory / "a", 2, false), Error);
  EXPECT_FALSE(store.status(directory / "a").exists);
  std::filesystem::remove(directory / "a.000001");
  rename_set(store, directory / temporary, directory / "a", 2, false);
  EXPECT_EQ(text("a"), "new");
  EXPECT_EQ(mode("a"), 0640u);
}

}  // namespace
}  // namespace sheaf::test::rename_set_test
