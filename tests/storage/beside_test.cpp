// Objects that another user may have planted under the names of files that the library creates next to
// others.
#include "storage/beside.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "base/error.hpp"
#include "comm/agree.hpp"
#include "format/edges.hpp"
#include "format/journal.hpp"
#include "multifile/create/new_file.hpp"
#include "multifile/metadata/boundary_blocks.hpp"
#include "storage/testing.hpp"

namespace sheaf {
namespace {

namespace fs = std::filesystem;

constexpr uid_t other_user = 65534;
const std::string treasure = "what must not change";

// A way to plant an object under a name.
struct Planting {
  const char* what;
  std::function<void(const fs::path& name, const fs::path& victim)> plant;
};

void give_away(const fs::path& name) { ASSERT_EQ(::chown(name.c_str(), other_user, other_user), 0); }

std::vector<Planting> plantings() {
  std::vector<Planting> all = {
      {"link", [](const fs::path& name, const fs::path& victim) { fs::create_symlink(victim, name); }},
      {"dangling link",
       [](const fs::path& name, const fs::path& victim) { fs::create_symlink(victim.string() + "-", name); }},
      {"hard link", [](const fs::path& name, const fs::path& victim) { fs::create_hard_link(victim, name); }},
      {"pipe", [](const fs::path& name, const fs::path&) { ASSERT_EQ(::mkfifo(name.c_str(), 0666), 0); }},
      {"directory", [](const fs::path& name, const fs::path&) { fs::create_directory(name); }}};
  if (::geteuid() == 0)
    all.push_back({"empty file of another user", [](const fs::path& name, const fs::path&) {
                     std::ofstream(name).close();
                     fs::permissions(name, fs::perms(0666));
                     give_away(name);
                   }});
  return all;
}

class BesideFiles : public ::testing::Test {
 protected:
  BesideFiles() {
    fs::create_directories(directory_);
    std::ofstream(victim_) << treasure;
    std::ofstream(data_) << "data";
  }
  ~BesideFiles() override { fs::remove_all(directory_); }

  // Requires that `create` rejects every object planted under `name` as foreign, and leaves it unchanged.
  void expect_refused(const std::string& name, const std::function<void()>& create) {
    for (const Planting& one : plantings()) {
      SCOPED_TRACE(name + ": " + one.what);
      one.plant(name, victim_);
      struct stat before {};
      struct stat after {};
      ASSERT_EQ(::lstat(name.c_str(), &before), 0);
      const auto problem = attempt(create);
      ASSERT_TRUE(problem);
      EXPECT_TRUE(problem->code() == Code::foreign || problem->errno_value() == EEXIST) << problem->what();
      ASSERT_EQ(::lstat(name.c_str(), &after), 0);
      EXPECT_EQ(before.st_ino, after.st_ino);
      EXPECT_EQ(before.st_size, after.st_size);
      std::string found;
      std::getline(std::ifstream(victim_), found);
      EXPECT_EQ(found, treasure);
      EXPECT_FALSE(fs::exists(victim_.string() + "-"));
      fs::remove_all(name);
    }
  }

  Store& store_ = posix_store();
  const fs::path directory_ = fs::temp_directory_path() / ("sheaf-beside-" + std::to_string(::getpid()));
  const fs::path victim_ = directory_ / "victim";
  const std::string data_ = directory_ / "data";
};

TEST_F(BesideFiles, WhatIsPlantedIsNeitherOpenedNorReplaced) {
  const std::string name = data_ + ".any";
  bool made = false;
  expect_refused(name, [&] { make_beside(store_, name); });
  expect_refused(name, [&] { make_or_open_beside(store_, name, data_, made); });
  expect_refused(name, [&] { make_or_open_beside(store_, name, {}, made); });
}

TEST_F(BesideFiles, TheOwnersOfNeighboursThatAreMissingDoNotCount) {
  if (::geteuid() != 0) GTEST_SKIP() << "another user needs root";
  const std::string name = data_ + ".any";
  bool made = false;
  std::ofstream(name).close();
  ASSERT_EQ(::chown(name.c_str(), other_user, other_user), 0);
  EXPECT_THROW(open_beside(store_, name, data_ + ".missing"), Error);
  ASSERT_EQ(::chown(data_.c_str(), other_user, other_user), 0);
  EXPECT_NO_THROW(
      make_or_open_beside(store_, name, data_, made));  // allowed, because several users may write this file
  EXPECT_FALSE(made);
  EXPECT_THROW(open_beside(store_, name, {}), Error);
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_), fs::directory_iterator()), 3);
}

TEST_F(BesideFiles, JournalsOfHosts) {
  format::JournalHeader header{.ntasks = 2, .fsblksize = 512, .data_start = 4096, .hosts = 2, .host = 0};
  bool changed = false;
  for (const std::string& name : {format::journal_name(data_), format::journal_name(data_, 0)})
    expect_refused(name, [&] { multifile::open_journal(store_, data_, header, changed); });
}

TEST_F(BesideFiles, BoundaryFilesOfHosts) {
  multifile::JournalKey key;
  key.hosts.count = 2;
  key.hosts.mine = 1;
  const std::string name = format::edges_name(data_, 1);
  expect_refused(name, [&] {
    multifile::BoundaryBlocks edges(store_, data_, false);
    edges.set(key, 4096, 4096, 8192, {{.task = 0, .where = {4096, 8000, 0}}});
    const std::byte byte{1};
    edges.write({&byte, 1}, 4096);
  });
}

TEST_F(BesideFiles, FurtherFilesOfASetAndCopies) {
  const std::string name = data_ + ".000001";
  expect_refused(name, [&] { multifile::create_file(store_, name, name, data_); });
  const std::string temporary = data_ + ".sheaf-tmp.0123456789abcdef";
  expect_refused(temporary, [&] { multifile::create_file(store_, temporary, data_, {}); });
}

}  // namespace
}  // namespace sheaf
