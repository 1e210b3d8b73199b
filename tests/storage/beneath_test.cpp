// A store beneath a directory. No name may lead out of the directory, whatever the directory contains.
#include "storage/posix/beneath.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <functional>

#include "storage/posix/posix_beneath.hpp"
#include "support/stores/faulty_store.hpp"
#include "support/stores/memory_store.hpp"
#include "testing.hpp"

namespace sheaf::testing::beneath_test {
namespace {

Code code_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  return Code::ok;
}

struct BeneathTree {
  TemporaryDirectory temporary;
  std::string root = temporary / "root";
  std::string secret = temporary / "secret";

  BeneathTree() {
    ::mkdir(root.c_str(), 0755);
    ::mkdir((root + "/d").c_str(), 0755);
    ::mkdir((temporary / "out").c_str(), 0755);
    for (const std::string& path : {secret, root + "/d/file"})
      posix_store().open(path, Access::fresh)->write_at(bytes("kept"), 0);
  }
  void link(const std::string& to, const std::string& name) const {
    ASSERT_EQ(::symlink(to.c_str(), (root + "/" + name).c_str()), 0);
  }
  void expect_kept() const {
    EXPECT_EQ(read_text(*posix_store().open(secret, Access::read), 0, 99), "kept");
    EXPECT_TRUE(std::filesystem::is_empty(temporary / "out"));
  }
};

void expect_refused(Store& store, const std::string& path) {
  SCOPED_TRACE(path);
  for (const Access access : {Access::read, Access::write, Access::create, Access::fresh})
    EXPECT_NE(code_of([&] { store.open(path, access); }), Code::ok);
  EXPECT_NE(code_of([&] { store.remove(path + "/secret"); }), Code::ok);
  EXPECT_NE(code_of([&] { store.rename("d/file", path + "/new"); }), Code::ok);
  EXPECT_NE(code_of([&] { store.rename(path + "/secret", "d/new"); }), Code::ok);
}

class Beneath : public ::testing::TestWithParam<Resolving> {
 protected:
  BeneathTree tree;
  std::shared_ptr<Store> store = posix_store_beneath(tree.root, GetParam());
};

TEST_P(Beneath, FilesAreWhereTheirNamesSay) {
  store->open("/a", Access::create)->write_at(bytes("1"), 0);
  store->open("d//b", Access::fresh)->write_at(bytes("22"), 0);
  EXPECT_EQ(store->open("a", Access::read)->path(), tree.root + "/a");
  EXPECT_EQ(posix_store().status(tree.root + "/d/b").size, 2);
  EXPECT_EQ(store->status("///d/b").size, 2);
  EXPECT_TRUE(store->status("").is_directory);
  store->rename("/d/b", "/c");
  EXPECT_FALSE(store->status("/d/b").exists);
  store->remove("/c");
  EXPECT_FALSE(store->status("c").exists);
  EXPECT_EQ(code_of([&] { store->open("c", Access::read); }), Code::not_found);
  EXPECT_EQ(code_of([&] { store->remove("c"); }), Code::not_found);
  EXPECT_EQ(code_of([&] { store->open("d", Access::read); }), Code::io) << "a directory";
}

TEST_P(Beneath, TwoDotsAreRefused) {
  for (const char* path : {"..", "../secret", "/../secret", "d/../../secret", "d/..", "./../secret"}) {
    expect_refused(*store, path);
    EXPECT_EQ(code_of([&] { store->status(path); }), Code::permission) << path;
    EXPECT_EQ(code_of([&] { store->remove(path); }), Code::permission) << path;
  }
  store->open("..a", Access::create);
  store->open("d/b..", Access::create);
  tree.expect_kept();
}

TEST_P(Beneath, LinksThatLeadOutAreRefused) {
  tree.link(tree.secret, "absolute");
  tree.link("../secret", "relative");
  tree.link(tree.temporary.path(), "directory");
  tree.link("../out/new", "dangling");
  tree.link("/proc/self/root" + tree.secret, "magic");
  for (const char* path : {"absolute", "relative", "dangling", "magic"}) {
    expect_refused(*store, path);
    EXPECT_EQ(code_of([&] { store->open(path, Access::read); }), Code::permission) << path;
    EXPECT_EQ(code_of([&] { store->status(path); }), Code::permission) << path;
  }
  expect_refused(*store, "directory");
  expect_refused(*store, "directory/secret");
  EXPECT_EQ(code_of([&] { store->status("directory/secret"); }), Code::permission);
  EXPECT_NE(code_of([&] { store->open("directory/out/new", Access::create); }), Code::ok);
  tree.expect_kept();
}

// A link inside the directory must be removed and renamed as a link, even if it points elsewhere.
TEST_P(Beneath, ALinkIsRemovedAndRenamedAsALink) {
  tree.link(tree.secret, "link");
  store->rename("link", "other");
  store->remove("other");
  EXPECT_FALSE(std::filesystem::is_symlink(tree.root + "/other"));
  tree.expect_kept();
}

TEST_P(Beneath, NamesWithZerosAreRefused) {
  EXPECT_EQ(code_of([&] { store->open(std::string("d/file\0.x", 9), Access::read); }),
            Code::invalid_argument);
  EXPECT_EQ(code_of([&] { store->remove(std::string("d/file\0.x", 9)); }), Code::invalid_argument);
}

TEST_P(Beneath, WithoutTheDirectoryNothingIsThere) {
  const auto missing = posix_store_beneath(tree.root + "/missing", GetParam());
  EXPECT_FALSE(missing->status("a").exists);
  EXPECT_EQ(code_of([&] { missing->open("a", Access::create); }), Code::not_found);
}

INSTANTIATE_TEST_SUITE_P(Ways, Beneath, ::testing::Values(Resolving::kernel, Resolving::walk),
                         [](const auto& tested) {
                           return tested.param == Resolving::kernel ? "kernel" : "walk";
                         });

TEST(BeneathByKernel, LinksThatStayAreFollowed) {
  const BeneathTree tree;
  tree.link("d/file", "link");
  tree.link("d", "dir");
  const auto store = posix_store().beneath(tree.root);
  EXPECT_EQ(read_text(*store->open("link", Access::read), 0, 99), "kept");
  EXPECT_EQ(store->status("dir/file").size, 4);
}

TEST(BeneathOtherStores, NamesAreLookedAt) {
  MemoryStore memory;
  FaultyStore faulty(memory);
  memory.add_directory("/");
  memory.add_directory("/root");
  memory.set_contents("/secret", bytes("kept"));
  const auto store = faulty.beneath("/root");
  store->open("/a", Access::create)->write_at(bytes("1"), 0);
  EXPECT_EQ(text(memory.contents("/root/a")), "1");
  store->rename("a", "/b");
  EXPECT_EQ(store->status("b").size, 1);
  EXPECT_EQ(code_of([&] { store->open("../secret", Access::read); }), Code::permission);
  EXPECT_EQ(code_of([&] { store->remove("/../secret"); }), Code::permission);
  EXPECT_EQ(code_of([&] { store->rename("b", "../secret"); }), Code::permission);
  store->remove("b");
  EXPECT_EQ(text(memory.contents("/secret")), "kept");
}

}  // namespace
}  // namespace sheaf::testing::beneath_test
