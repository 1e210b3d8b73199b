// A commit in a directory replaces the files of an older set. Wherever the commit stops, attributes of the
// old files and symbolic links must be kept.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "multifile/create/commit.hpp"
#include "multifile/tools/verify.hpp"
#include "storage/testing.hpp"
#include "support/generations.hpp"

namespace sheaf::test::commit_links_test {

using namespace multifile;

namespace {

constexpr int old_generation = 1, new_generation = 2;
constexpr int nfiles = 3;

// Decorator of a Store. Every change of a name fails, from the n-th change on.
class StoppingStore final : public ForwardingStore {
 public:
  StoppingStore(Store& inner, int changes) : ForwardingStore(inner), left_(changes) {}
  std::shared_ptr<File> open(const std::string& path, Access access) override {
    if (access == Access::fresh) count();
    return ForwardingStore::open(path, access);
  }
  void remove(const std::string& path) override {
    count();
    ForwardingStore::remove(path);
  }
  void rename(const std::string& from, const std::string& to) override {
    count();
    ForwardingStore::rename(from, to);
  }

 private:
  void count() {
    if (left_-- <= 0) throw Error(Code::io, "stopped", EIO);
  }
  int left_;
};

class CommitLinks : public ::testing::Test {
 protected:
  void TearDown() override {
    if (!elsewhere_.empty()) std::filesystem::remove_all(elsewhere_);
  }
  // Returns a directory that is on another file system if possible.
  std::string elsewhere() {
    elsewhere_ = "/dev/shm/sheaf-commit-" + std::to_string(::getpid());
    if (::mkdir(elsewhere_.c_str(), 0700) != 0) {
      elsewhere_.clear();
      std::filesystem::create_directory(directory / "elsewhere");
      return directory / "elsewhere";
    }
    return elsewhere_;
  }
  // Creates the old generation; the names in `links` are symbolic links to its files.
  void put_old(const std::vector<std::string>& links) {
    for (const std::string& place : {directory.path(), elsewhere_})
      for (const auto& entry : std::filesystem::directory_iterator(place.empty() ? directory.path() : place))
        std::filesystem::remove_all(entry);
    for (const std::string& link : links)
      if (!link.empty())
        std::filesystem::create_directories(std::filesystem::path(directory / link).parent_path());
    write_generation(store, directory / "a", old_generation, nfiles);
    for (size_t k = 0; k < links.size(); ++k) {
      if (links[k].empty()) continue;
      const std::string name = directory / format::physical_name("a", static_cast<int>(k));
      const auto target = std::filesystem::path(name).parent_path() / links[k];
      std::filesystem::copy_file(name, target, std::filesystem::copy_options::overwrite_existing);
      std::filesystem::remove(name);
      std::filesystem::create_symlink(links[k], name);
    }
  }
  mode_t mode(const std::string& name) const {
    struct stat found {};
    ::stat((directory / name).c_str(), &found);
    return found.st_mode & 07777;
  }

  testing::TemporaryDirectory directory;
  Store& store = posix_store();

 private:
  std::string elsewhere_;
};

TEST_F(CommitLinks, EveryFileTakesAfterTheOneItReplaces) {
  for (const bool durable : {false, true}) {
    put_old({"far/lead", "far/second", ""});
    ::chmod((directory / "far/lead").c_str(), 0640);
    ::chmod((directory / "far/second").c_str(), 0604);
    ::chmod((directory / "a.000002").c_str(), 0660);
    const std::string temporary = new_temporary_name(store, directory / "a");
    EXPECT_TRUE(temporary.starts_with(std::string(directory / "far/lead")));
    write_generation(store, temporary, new_generation, nfiles);
    commit_set(store, temporary, directory / "a", nfiles, durable);
    EXPECT_EQ(generation_of(store, directory / "a"), new_generation);
    EXPECT_EQ(std::filesystem::read_symlink(directory / "a"), "far/lead");
    EXPECT_EQ(std::filesystem::read_symlink(directory / "a.000001"), "far/second");
    EXPECT_EQ(mode("a"), 0640u);
    EXPECT_EQ(mode("a.000001"), 0604u);
    EXPECT_EQ(mode("a.000002"), 0660u);
  }
}

// Wherever the commit stops, readers must find one generation through the links. If the links point to a
// whole set of another name, they must find the same generation under that name.
TEST_F(CommitLinks, WhereverItStopsReadersFindOneGeneration) {
  const std::string far = elsewhere();
  const std::vector<std::vector<std::string>> places = {
      {"", "", ""},
      {"far/b", "far/b.000001", "far/b.000002"},
      {far + "/b", "", far + "/b.000002"},
      {"", far + "/x", "far/y"},
  };
  for (size_t p = 0; p < places.size(); ++p)
    for (int changes = 0, last = old_generation;; ++changes) {
      SCOPED_TRACE("places " + std::to_string(p) + ", stopped after " + std::to_string(changes));
      put_old(places[p]);
      const std::string name = directory / "a";
      const std::string temporary = new_temporary_name(store, name);
      write_generation(store, temporary, new_generation, nfiles);
      StoppingStore stopping(store, changes);
      const auto stopped = attempt([&] { commit_set(stopping, temporary, name, nfiles, false); });
      const int found = generation_of(store, name);
      EXPECT_GE(found, last);
      last = found;
      EXPECT_EQ(by_task(store, name), found);
      EXPECT_EQ(by_group(store, name), found);
      EXPECT_EQ(by_mapped(store, name), found);
      WorkProgress quiet;
      EXPECT_TRUE(verify(store, name, true, quiet).ok());
      if (p == 1) {
        EXPECT_EQ(generation_of(store, directory / "far/b"), found);
      }
      plain_reader_opens(store, name);
      if (!stopped) {
        EXPECT_EQ(found, new_generation);
        EXPECT_TRUE(plain_reader_opens(store, name));
        for (size_t k = 0; k < nfiles; ++k) {
          if (places[p][k].empty()) continue;
          EXPECT_EQ(std::filesystem::read_symlink(format::physical_name(name, static_cast<int>(k))),
                    places[p][k]);
        }
        break;
      }
      commit_set(store, temporary, name, nfiles, false);  // the program repeats the close
      EXPECT_EQ(generation_of(store, name), new_generation);
      EXPECT_TRUE(plain_reader_opens(store, name));
      EXPECT_FALSE(store.status(temporary).exists);
    }
}

// A commit that fails in the middle is repeated. Attributes that the first call has already copied must be
// kept.
TEST_F(CommitLinks, ARepeatedCallKeepsWhatTheFirstHasTaken) {
  put_old({"", "", ""});
  ::chmod((directory / "a").c_str(), 0640);
  const std::string temporary = new_temporary_name(store, directory / "a");
  write_generation(store, temporary, new_generation, nfiles);
  std::filesystem::remove(directory / "a.000001");
  std::filesystem::create_directory(directory / "a.000001");  // an obstacle
  EXPECT_THROW(commit_set(store, temporary, directory / "a", nfiles, false), Error);
  EXPECT_EQ(generation_of(store, directory / "a"), new_generation);
  std::filesystem::remove(directory / "a.000001");
  commit_set(store, temporary, directory / "a", nfiles, false);
  EXPECT_EQ(generation_of(store, directory / "a"), new_generation);
  EXPECT_EQ(mode("a"), 0640u);
}

// A reader opens files while a commit is interrupted and reopens them after the commit has ended. It must
// read the same generation.
TEST_F(CommitLinks, OpenReadersStayWithTheirGeneration) {
  put_old({"", "", ""});
  const std::string name = directory / "a";
  const std::string temporary = new_temporary_name(store, name);
  write_generation(store, temporary, new_generation, nfiles);
  StoppingStore stopping(store, 3);
  EXPECT_THROW(commit_set(stopping, temporary, name, nfiles, false), Error);
  ASSERT_TRUE(find_commit_record(store, name));
  Reader reader(store, name, mode_of("r"));
  const Multifile opened = load_multifile(store, name);
  finish_commit(store, name);
  FoundGeneration found;
  for (int64_t t = 0; t < generation_tasks; ++t) {
    reader.select(t);
    found.add(t, reader.stream());
  }
  EXPECT_EQ(found.value(), new_generation);
  for (const PhysicalFile& f : opened.files) {
    const FileDescriptor again = f.file->descriptor(DescriptorKind::reader);
    EXPECT_GE(again.number, 0);
    ::close(again.number);
  }
}

}  // namespace
}  // namespace sheaf::test::commit_links_test
