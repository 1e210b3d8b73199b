// Relative names keep the meaning that they had when the store was created, even if the current directory
// changes.
#include "storage/working_directory.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "sfio/striped_store.hpp"
#include "storage/decorators/shared_handles.hpp"
#include "storage/stdio_handle.hpp"
#include "support/current_directory.hpp"
#include "testing.hpp"

namespace sheaf::testing::working_directory_test {

using namespace sfio;

namespace {

long open_descriptors() {
  const auto entries = std::filesystem::directory_iterator("/proc/self/fd");
  return std::distance(begin(entries), end(entries));
}

class WorkingDirectoryTest : public ::testing::Test {
 protected:
  // Creates `name` here and elsewhere, with different contents.
  void make(const std::string& name) {
    std::ofstream(places.here / name) << "own " << name;
    places.plant(name);
  }

  TemporaryDirectory temporary;
  test::TwoDirectories places{temporary.path()};
};

TEST_F(WorkingDirectoryTest, EveryCallOnANameCountsFromWhereTheStoreWasMade) {
  for (const char* name : {"opened", "removed", "renamed"}) make(name);
  const auto before = places.planted();
  const auto store = posix_store_here();
  places.go_elsewhere();
  store->open("opened", Access::write)->write_at(bytes("OWN"), 0);
  store->open("made", Access::fresh)->sync();
  EXPECT_EQ(store->status("opened").size, 10);
  EXPECT_FALSE(store->status("missing").exists);
  store->remove("removed");
  store->rename("renamed", "to");
  store->sync_name("to");
  EXPECT_EQ(store->open("made", Access::read)->path(), "made");
  const auto absolute = places.elsewhere / "opened";
  EXPECT_EQ(read_text(*store->open(absolute, Access::read), 0, 99), "precious opened");
  EXPECT_EQ(places.planted(), before);
  const auto own = test::TwoDirectories::contents(places.here);
  EXPECT_EQ(own, (std::map<std::string, std::string>{
                     {"made", ""}, {"opened", "OWN opened"}, {"to", "own renamed"}}));
}

TEST_F(WorkingDirectoryTest, AFileIsOpenedAgainWhereItWas) {
  make("a");
  const auto file = posix_store_here()->open("a", Access::read);  // the store may be destroyed
  places.go_elsewhere();
  StdioHandle handle(*file, true, true);
  char text[10];
  EXPECT_EQ(std::fread(text, 1, sizeof text, handle.stream()), 5u);
  EXPECT_EQ(std::string(text, 5), "own a");
  handle.move_to(0);
  handle.write(bytes("OWN"));
  handle.close();
  EXPECT_EQ(test::TwoDirectories::contents(places.here)["a"], "OWN a");
  EXPECT_EQ(places.planted()["a"], "precious a");
}

TEST_F(WorkingDirectoryTest, HoldsWhileTheDirectoryIsRenamedOrRemoved) {
  make("a");
  const auto store = posix_store_here();
  const auto file = store->open("a", Access::write);
  std::filesystem::rename(places.here, temporary / "moved");
  places.go_elsewhere();
  EXPECT_EQ(read_text(*store->open("a", Access::read), 0, 9), "own a");
  std::filesystem::remove_all(temporary / "moved");
  EXPECT_FALSE(store->status("a").exists);
  EXPECT_EQ(error_of([&] { store->open("b", Access::create); }).code(), Code::not_found);
  EXPECT_EQ(error_of([&] { file->descriptor(DescriptorKind::writer); }).code(), Code::not_found);
  EXPECT_EQ(places.planted()["a"], "precious a");
}

TEST_F(WorkingDirectoryTest, WithoutADirectoryNamesAreUsedAsGiven) {
  std::filesystem::create_directory("gone");
  std::filesystem::current_path("gone");
  std::filesystem::remove("../gone");
  const auto store = posix_store_here();
  EXPECT_EQ(error_of([&] { store->open("a", Access::create); }).code(), Code::not_found);
  const std::string absolute = places.here / "a";
  store->open(absolute, Access::create)->sync();
  EXPECT_TRUE(store->status(absolute).exists);
}

// The absolute form of the name exceeds the system's limit. The call must succeed nevertheless.
TEST_F(WorkingDirectoryTest, NamesOfDeepDirectoriesAreShortEnough) {
  const std::string component(200, 'd');
  for (int depth = 0; depth < 25; ++depth) {
    ASSERT_EQ(::mkdir(component.c_str(), 0777), 0);
    ASSERT_EQ(::chdir(component.c_str()), 0);
  }
  const auto store = posix_store_here();
  const auto file = store->open("a", Access::fresh);
  file->write_at(bytes("deep"), 0);
  places.go_elsewhere();
  StdioHandle handle(*file, true, false);
  EXPECT_EQ(read_text(*store->open("a", Access::read), 0, 9), "deep");
  store->rename("a", "b");
  store->remove("b");
  EXPECT_TRUE(places.planted().empty());
}

TEST_F(WorkingDirectoryTest, OneDescriptorServesAllAndGoesWithTheLast) {
  const long before = open_descriptors();
  {
    const auto first = WorkingDirectory::now();
    const auto second = WorkingDirectory::now();
    EXPECT_EQ(first, second);
    EXPECT_EQ(open_descriptors(), before + 1);
    places.go_elsewhere();
    EXPECT_NE(WorkingDirectory::now(), first);
    EXPECT_NE(WorkingDirectory::now()->identity, first->identity);
    places.go_here();
    EXPECT_EQ(WorkingDirectory::now()->identity, first->identity);
    EXPECT_EQ(any_store_here(), any_store_here());
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(WorkingDirectoryTest, SharedHandlesTellNamesOfDifferentDirectoriesApart) {
  make("a");
  const SharedHandles all(any_store());
  SharedHandles here(any_store_here(), all);
  SharedHandles again(any_store_here(), all);
  const auto own = here.open("a", Access::read);
  EXPECT_EQ(again.open("a", Access::read), own);
  places.go_elsewhere();
  SharedHandles there(any_store_here(), all);
  const auto other = there.open("a", Access::read);
  EXPECT_NE(other, own);
  EXPECT_EQ(read_text(*own, 0, 99), "own a");
  EXPECT_EQ(read_text(*other, 0, 99), "precious a");
  EXPECT_EQ(here.open("a", Access::read), own);
  here.remove("a");  // removes its own entry, not the other one
  EXPECT_EQ(there.open("a", Access::read), other);
  EXPECT_EQ(places.planted()["a"], "precious a");
}

// Requires that a task finds relative subfiles of striped files that it accesses itself.
TEST_F(WorkingDirectoryTest, SubfilesAreFoundWhereTheyWere) {
  const std::string name = "sfio:unit=4;localhost,s0;localhost,s1;";
  for (const char* subfile : {"s0", "s1", "s0.sfio", "s1.sfio"}) places.plant(subfile);
  const auto before = places.planted();
  const auto store = any_store_here();
  const auto file = store->open(name, Access::fresh);
  places.go_elsewhere();
  file->write_at(bytes("0123456789"), 0);
  EXPECT_EQ(store->status(name).size, 10);
  file->close();
  EXPECT_EQ(read_text(*store->open(name, Access::read), 0, 99), "0123456789");
  store->remove(name);
  EXPECT_EQ(places.planted(), before);
  EXPECT_TRUE(test::TwoDirectories::contents(places.here).empty());
}

}  // namespace
}  // namespace sheaf::testing::working_directory_test
