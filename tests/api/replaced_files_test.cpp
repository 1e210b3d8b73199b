// Tests opening for writing when the name already exists. With `atomic`, a new file must replace the old one
// and keep its mode, owner and links. Opens of pipes, devices and directories must fail.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/api_fixture.hpp"

namespace sheaf::test::replaced_files_test {
namespace {

class ReplacedFiles : public Api {
 protected:
  static void put(const std::string& file, std::string_view text, mode_t mode) {
    std::ofstream(file) << text;
    ::chmod(file.c_str(), mode);
  }
  static struct stat of(const std::string& file) {
    struct stat found {};
    EXPECT_EQ(::stat(file.c_str(), &found), 0) << file;
    return found;
  }
  static mode_t mode_of(const std::string& file) { return of(file).st_mode & 07777; }
  // Returns the path of the temporary file beside `file`.
  static std::string temporary(const std::string& file) {
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(file).parent_path()))
      if (entry.path().string().starts_with(file + ".sheaf-tmp.") && entry.path().extension() != ".lease")
        return entry.path();
    ADD_FAILURE() << "no temporary file";
    return "";
  }
  static int write(const std::string& file, const char* mode = "wb,atomic") {
    const int sid = create(file, {512}, 512, nullptr, mode);
    EXPECT_EQ(sion_fwrite("new", 1, 3, sid), 3u);
    return sion_close(sid);
  }
  static void expect_new(const std::string& file) {
    const int sid = open(file);
    EXPECT_EQ(sion_get_bytes_read(sid), 0);
    EXPECT_EQ(sion_bytes_avail_in_block(sid), 3);
    EXPECT_EQ(sion_close(sid), 1);
  }
};

TEST_F(ReplacedFiles, KeepModeAndOwner) {
  const std::string file = path("a");
  for (const mode_t mode : {0600u, 0640u, 0666u, 0444u}) {
    put(file, "old", mode);
    ASSERT_TRUE(::geteuid() != 0 || ::chown(file.c_str(), 1234, 4321) == 0);
    const struct stat before = of(file);
    EXPECT_EQ(write(file), 1);
    expect_new(file);
    EXPECT_EQ(mode_of(file), mode);
    EXPECT_EQ(of(file).st_uid, before.st_uid);
    EXPECT_EQ(of(file).st_gid, before.st_gid);
    EXPECT_NE(of(file).st_ino, before.st_ino);
    std::filesystem::remove(file);
  }
}

TEST_F(ReplacedFiles, NobodyElseReadsThemBeforeTheyAreComplete) {
  const std::string file = path("a");
  put(file, "old", 0640);
  const int sid = create(file, {512}, 512, nullptr, "wb,atomic");
  EXPECT_EQ(mode_of(temporary(file)), 0600u);
  EXPECT_EQ(sion_close(sid), 1);
  const std::string other = path("b");  // a name that does not exist yet
  const mode_t before = ::umask(027);
  const int second = create(other, {512}, 512, nullptr, "wb,atomic");
  EXPECT_EQ(mode_of(temporary(other)), 0640u);
  EXPECT_EQ(sion_close(second), 1);
  ::umask(before);
  EXPECT_EQ(mode_of(other), 0640u);
}

TEST_F(ReplacedFiles, LinksInTheirPlaceStay) {
  std::filesystem::create_directory(path("far"));
  for (const std::string text : {"far/old", "far/new"}) {
    const std::string link = path("link");
    if (text == "far/old") put(path("far/old"), "old", 0640);
    ASSERT_EQ(::symlink(text.c_str(), link.c_str()), 0);
    EXPECT_EQ(write(link, "wb,atomic,durable"), 1) << sheaf_last_error();
    EXPECT_EQ(std::filesystem::read_symlink(link), text);
    expect_new(path(text));
    std::filesystem::remove(link);
  }
  EXPECT_EQ(mode_of(path("far/old")), 0640u);
}

TEST_F(ReplacedFiles, LinksToOtherFileSystemsStayToo) {
  const std::string far = "/dev/shm/sheaf-replaced-" + std::to_string(::getpid());
  if (!std::filesystem::exists("/dev/shm") || of("/dev/shm").st_dev == of(path(".")).st_dev)
    GTEST_SKIP() << "one file system";
  put(far, "old", 0604);
  ASSERT_EQ(::symlink(far.c_str(), path("link").c_str()), 0);
  EXPECT_EQ(write(path("link")), 1) << sheaf_last_error();
  EXPECT_EQ(std::filesystem::read_symlink(path("link")), far);
  expect_new(far);
  EXPECT_EQ(mode_of(far), 0604u);
  std::filesystem::remove(far);
  const auto left = std::filesystem::directory_iterator(path("."));
  EXPECT_EQ(std::distance(begin(left), end(left)), 1);
}

TEST_F(ReplacedFiles, OthersOfTheirNamesKeepWhatTheyHad) {
  put(path("a"), "old", 0644);
  std::filesystem::create_hard_link(path("a"), path("second"));
  EXPECT_EQ(write(path("a")), 1);
  EXPECT_EQ(std::filesystem::file_size(path("second")), 3u);
}

// Replacing a file requires write permission on its directory, not on the file. Therefore an ordinary user
// must be able to replace a read-only file.
TEST_F(ReplacedFiles, ReadOnlyOnesOfAnOrdinaryUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  const std::string where = path("own");
  std::filesystem::create_directory(where);
  ASSERT_EQ(::chown(where.c_str(), 1000, 1000), 0);
  ::chmod(path(".").c_str(), 0755);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setgid(1000) != 0 || ::setuid(1000) != 0) ::_exit(9);
    put(where + "/a", "old", 0440);
    ::_exit(write(where + "/a", "wb,atomic,durable") == 1 ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  expect_new(where + "/a");
  EXPECT_EQ(mode_of(where + "/a"), 0440u);
  EXPECT_EQ(of(where + "/a").st_uid, 1000u);
}

TEST_F(ReplacedFiles, PipesDevicesAndDirectoriesAreRefusedWithoutWaiting) {
  const std::string pipe = path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0666), 0);
  for (const char* mode : {"wb", "wb,collective", "wb,posix", "rb", "append"}) {
    EXPECT_EQ(mode[0] == 'w' ? create(pipe, {512}, 512, nullptr, mode) : open(pipe, nullptr, mode), -1)
        << mode;
    EXPECT_TRUE(last_error_has("is a pipe, not a regular file")) << mode << sheaf_last_error();
  }
  EXPECT_EQ(create(pipe, {512}, 512, nullptr, "wb,atomic"), -1);
  EXPECT_TRUE(last_error_has("not a regular file")) << sheaf_last_error();
  EXPECT_EQ(open_rank(pipe, 0), -1);
  EXPECT_EQ(open("/dev/zero"), -1);
  EXPECT_TRUE(last_error_has("is a device, not a regular file")) << sheaf_last_error();
  EXPECT_EQ(open(path(".")), -1);
  EXPECT_EQ(create(path("."), {512}), -1);
}

}  // namespace
}  // namespace sheaf::test::replaced_files_test
