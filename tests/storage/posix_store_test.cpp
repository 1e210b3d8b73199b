// Features of the POSIX store alone: descriptors, limits of the operating system, interrupted and short
// transfers.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <filesystem>
#include <thread>

#include "storage/beside.hpp"
#include "storage/store.hpp"
#include "storage/system/posix_transfer.hpp"
#include "testing.hpp"

namespace sheaf::testing::posix_store_test {
namespace {

class PosixStoreTest : public ::testing::Test {
 protected:
  TemporaryDirectory directory;
  Store& store = posix_store();
};

// MooseFS keeps the length of a file as long as a descriptor that wrote is open. Writes must therefore use a
// temporary descriptor.
TEST_F(PosixStoreTest, WritesPastTheCacheOfFuseHaveADescriptorWhereLengthsAreKeptWithThem) {
  const auto open_now = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  for (const FileSystem kind : {FileSystem::glusterfs, FileSystem::moosefs, FileSystem::fuse}) {
    const auto file = store.open(directory / name_of(kind), Access::create);
    file->know(kind);
    const auto before = open_now();
    EXPECT_TRUE(file->write_directly(bytes("abc"), 0));
    EXPECT_EQ(open_now() - before, kind != FileSystem::glusterfs) << name_of(kind);
    file->publish();
    EXPECT_EQ(open_now(), before) << name_of(kind);
    EXPECT_EQ(file->status().size, 3);
  }
}

TEST_F(PosixStoreTest, WhatOnlySeemsToLieBesideAnotherFileIsForeign) {
  const std::string other = directory / "other";
  store.open(other, Access::fresh)->write_at(bytes("abc"), 0);
  const auto refused = [&](const std::string& name) {
    const Error e = error_of([&] { store.open(directory / name, Access::sidecar); });
    EXPECT_NE(std::string(e.what()).find(directory / name), std::string::npos) << e.what();
    return e.code();
  };
  ASSERT_EQ(::symlink(other.c_str(), (directory / "link").c_str()), 0);
  ASSERT_EQ(::symlink((directory / "nothing").c_str(), (directory / "dangling").c_str()), 0);
  ASSERT_EQ(::mkfifo((directory / "fifo").c_str(), 0600), 0);
  ASSERT_EQ(::mkdir((directory / "directory").c_str(), 0700), 0);
  for (const char* const name : {"link", "dangling", "fifo", "directory"})
    EXPECT_EQ(refused(name), Code::foreign) << name;
  for (const char* const name : {"link", "dangling", "fifo", "directory"})
    EXPECT_EQ(error_of([&] { store.open(directory / name, Access::fresh); }).errno_value(), EEXIST) << name;
  ASSERT_EQ(::link(other.c_str(), (directory / "name").c_str()), 0);
  EXPECT_EQ(refused("name"), Code::foreign);
  EXPECT_EQ(refused("other"), Code::foreign);
  ::unlink((directory / "name").c_str());
  EXPECT_EQ(read_text(*store.open(other, Access::sidecar), 0, 9), "abc");
  EXPECT_FALSE(store.status(directory / "nothing").exists);
}

TEST_F(PosixStoreTest, WhatBelongsToAnotherUserIsForeignUnlessItsNeighbourDoes) {
  if (::geteuid() != 0) GTEST_SKIP() << "files are given away by root only";
  const std::string file = directory / "file", beside = directory / "beside";
  for (const auto& name : {file, beside}) store.open(name, Access::fresh)->close();
  EXPECT_NO_THROW(open_beside(store, beside, file));
  ASSERT_EQ(::chown(beside.c_str(), 65534, 65534), 0);
  EXPECT_FALSE(store.status(beside).is_own);
  EXPECT_EQ(error_of([&] { open_beside(store, beside, file); }).code(), Code::foreign);
  ASSERT_EQ(::chown(file.c_str(), 65534, 65534), 0);
  EXPECT_NO_THROW(open_beside(store, beside, file));
}

TEST(MoveAll, ContinuesShortAndInterruptedCalls) {
  std::deque<int> script{3, -EINTR, 1, -EINTR, -EINTR, 6};
  std::vector<size_t> starts;
  const Moved moved = move_all(10, [&](size_t done, size_t count) -> ssize_t {
    starts.push_back(done);
    EXPECT_EQ(count, 10 - done);
    const int next = script.front();
    script.pop_front();
    if (next < 0) errno = -next;
    return next < 0 ? -1 : next;
  });
  EXPECT_EQ(moved.bytes, 10u);
  EXPECT_EQ(moved.error, 0);
  EXPECT_EQ(starts, (std::vector<size_t>{0, 3, 3, 4, 4, 4}));
}

TEST(MoveAll, TellsWhatWasMovedBeforeAFailureOrTheEnd) {
  const auto fails_at_4 = [](size_t done, size_t) -> ssize_t {
    errno = ENOSPC;
    return done < 4 ? 4 : -1;
  };
  EXPECT_EQ(move_all(10, fails_at_4).bytes, 4u);
  EXPECT_EQ(move_all(10, fails_at_4).error, ENOSPC);
  const auto ends_at_4 = [](size_t done, size_t) -> ssize_t { return done < 4 ? 4 : 0; };
  EXPECT_EQ(move_all(10, ends_at_4).bytes, 4u);
  EXPECT_EQ(move_all(10, ends_at_4).error, 0);
}

TEST(MoveAll, NeverAsksForMoreThanLinuxMoves) {
  size_t most = 0;
  const Moved moved = move_all(size_t{5} << 30, [&](size_t, size_t count) {
    most = std::max(most, count);
    return static_cast<ssize_t>(count);
  });
  EXPECT_EQ(moved.bytes, size_t{5} << 30);
  EXPECT_EQ(most, max_bytes_per_call);
}

// Transfers 2.25 GiB of addresses, which map 64 MiB of memory repeatedly.
TEST_F(PosixStoreTest, TransfersMoreThanTwoGigabytesInOneCall) {
  constexpr size_t piece = 64 << 20;
  constexpr size_t total = 36 * piece;
  const int memory = ::memfd_create("piece", MFD_CLOEXEC);
  ASSERT_EQ(::ftruncate(memory, piece), 0);
  void* const base = ::mmap(nullptr, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(base, MAP_FAILED);
  for (size_t at = 0; at < total; at += piece)
    ASSERT_NE(::mmap(static_cast<char*>(base) + at, piece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                     memory, 0),
              MAP_FAILED);
  const std::span all(static_cast<std::byte*>(base), total);
  const auto null = store.open("/dev/null", Access::write);
  null->write_at(all, 0);
  const Piece<const std::byte> pieces[] = {
      {0, all.first(5)}, {5, all}, {static_cast<int64_t>(total) + 5, all.first(7)}};
  null->write_pieces(pieces);
  const auto file = store.open(directory / "a", Access::fresh);
  file->write_at(bytes("end"), static_cast<int64_t>(total) - 3);
  EXPECT_EQ(file->read_at(all, 0), total);
  EXPECT_EQ(text(all.last(3)), "end");
  EXPECT_EQ(file->read_at(all, 4), total - 4);
  ::munmap(base, total);
  ::close(memory);
}

TEST_F(PosixStoreTest, DescriptorIsClosedOnExecAndReleasedByClose) {
  const auto file = store.open(directory / "a", Access::fresh);
  const int fd = file->descriptor(DescriptorKind::file).number;
  EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
  file->close();
  EXPECT_EQ(file->descriptor(DescriptorKind::file).number, -1);
  EXPECT_EQ(::fcntl(fd, F_GETFD), -1);
}

TEST_F(PosixStoreTest, DestructorReleasesTheDescriptor) {
  auto file = store.open(directory / "a", Access::fresh);
  const int fd = file->descriptor(DescriptorKind::file).number;
  file.reset();
  EXPECT_EQ(::fcntl(fd, F_GETFD), -1);
}

TEST_F(PosixStoreTest, CreatesWithMode0666LessUmask) {
  const mode_t before = ::umask(027);
  store.open(directory / "a", Access::fresh);
  ::umask(before);
  struct stat found;
  ASSERT_EQ(::stat((directory / "a").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0640u);
}

TEST_F(PosixStoreTest, CloseReportsADelayedError) {
  const auto file = store.open(directory / "a", Access::fresh);
  ::close(file->descriptor(DescriptorKind::file).number);
  EXPECT_EQ(error_of([&] { file->close(); }).errno_value(), EBADF);
  EXPECT_NO_THROW(file->close());
}

// A limit on the file size shortens a write first and makes the rest fail. The error must name the range.
TEST_F(PosixStoreTest, AWriteThatRunsIntoALimitNamesItsRange) {
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  rlimit low = before;
  low.rlim_cur = 1000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &low), 0);
  const auto file = store.open(directory / "a", Access::fresh);
  const auto single = error_of([&] { file->write_at(pattern(600), 500); });
  const auto data = pattern(300);
  const Piece<const std::byte> pieces[] = {{500, data}, {800, data}};
  const auto vector = error_of([&] { file->write_pieces(pieces); });
  const auto resize = error_of([&] { file->resize(2000); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  for (const auto& error : {single, vector}) {
    EXPECT_EQ(error.errno_value(), EFBIG);
    EXPECT_NE(std::string(error.what()).find("cannot write 600 bytes at offset 500 of '" + directory / "a"),
              std::string::npos)
        << error.what();
  }
  EXPECT_EQ(resize.errno_value(), EFBIG);
  EXPECT_EQ(file->status().size, 1000);
}

TEST_F(PosixStoreTest, AFullDeviceIsNoSpace) {
  const auto full = store.open("/dev/full", Access::write);
  EXPECT_EQ(error_of([&] { full->write_at(bytes("x"), 0); }).code(), Code::no_space);
  const auto from = store.open(directory / "a", Access::fresh);
  from->write_at(bytes("0123456789"), 0);
  EXPECT_EQ(error_of([&] { copy_range(*from, *full, 0, 0, 10); }).code(), Code::no_space);
}

TEST_F(PosixStoreTest, StatusBelowAFileIsNothingAndOtherObstaclesAreErrors) {
  store.open(directory / "a", Access::fresh);
  EXPECT_FALSE(store.status(directory / "a/b").exists);
  EXPECT_EQ(error_of([&] { store.open(directory / "a/b", Access::create); }).code(), Code::not_found);
  EXPECT_EQ(error_of([&] { store.open(directory / "no/b", Access::create); }).code(), Code::not_found);
  EXPECT_EQ(error_of([&] { store.status(directory / std::string(300, 'x')); }).errno_value(), ENAMETOOLONG);
}

// The other end of the pipe is never opened. The open must fail without waiting for it.
TEST_F(PosixStoreTest, PipesAndSocketsAreRefusedWithoutWaiting) {
  ASSERT_EQ(::mkfifo((directory / "pipe").c_str(), 0666), 0);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = directory / "socket";
  std::ranges::copy(name, address.sun_path);
  ASSERT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  for (const Access access : {Access::read, Access::write, Access::create})
    for (const std::string kind : {"pipe", "socket"}) {
      const auto error = error_of([&] { store.open(directory / kind, access); });
      EXPECT_EQ(error.code(), Code::invalid_argument);
      EXPECT_NE(std::string(error.what()).find("is a " + kind + ", not a regular file"), std::string::npos)
          << error.what();
    }
  EXPECT_EQ(error_of([&] { store.open(directory / "pipe", Access::fresh); }).errno_value(), EEXIST);
  ::close(socket);
}

TEST_F(PosixStoreTest, DescriptorsThatProgramsGetWaitAsUsual) {
  EXPECT_EQ(
      ::fcntl(store.open(directory / "a", Access::fresh)->descriptor(DescriptorKind::file).number, F_GETFL) &
          O_NONBLOCK,
      0);
}

// A process with a lease on the file, such as a file server, is notified. The open must wait until it
// releases the lease.
TEST_F(PosixStoreTest, AFileWithALeaseIsWaitedFor) {
  const std::string path = directory / "a";
  store.open(path, Access::fresh);
  const int holder = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ::signal(SIGIO, SIG_IGN);
  if (::fcntl(holder, F_SETLEASE, F_RDLCK) != 0) GTEST_SKIP() << "no leases here";
  std::jthread gives_back([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ::fcntl(holder, F_SETLEASE, F_UNLCK);
  });
  EXPECT_NO_THROW(store.open(path, Access::write));
  gives_back.join();
  ::close(holder);
}

TEST_F(PosixStoreTest, SyncOfANewFileWorksWithAndWithoutADirectoryInItsName) {
  EXPECT_NO_THROW(store.open(directory / "a", Access::fresh)->sync());
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(directory.path());
  EXPECT_NO_THROW(store.open("b", Access::create)->sync());
  std::filesystem::current_path(before);
}

}  // namespace
}  // namespace sheaf::testing::posix_store_test
