// Tests two writers of one name, and files that change while they are open. If a close succeeds, the file
// must hold all bytes that the writer's calls accepted. If it cannot hold them, the close must fail.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/api_fixture.hpp"
#include "support/process_callbacks.hpp"

namespace sheaf::test::ownership_test {
namespace {

class WritersOfOneName : public Api {
 protected:
  static int open_append(const std::string& file) { return open(file, nullptr, "append"); }
  static size_t write(int sid, char letter, size_t bytes) {
    const std::string text(bytes, letter);
    return sion_fwrite(text.data(), 1, bytes, sid);
  }
  // Returns the stream of a task, or "" with sheaf_last_error() set if it cannot be read.
  static std::string read(const std::string& file, int task = 0) {
    const int sid = open_rank(file, task);
    if (sid < 0) return "";
    std::string text(1 << 20, '\0');
    text.resize(sion_fread(text.data(), 1, text.size(), sid));
    sion_close(sid);
    return text;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(path(".")))
      found.push_back(entry.path().filename());
    std::ranges::sort(found);
    return found;
  }
  // Runs `act` in a child process and returns its result. 0 means success.
  template <class Act>
  static int in_another_process(Act&& act) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(act() ? 0 : 1);
    int status = -1;
    ::waitpid(child, &status, 0);
    return status;
  }
};

TEST_F(WritersOfOneName, AHandleThatWasForgottenLosesItToTheNext) {
  const std::string file = path("a");
  for (const char* mode : {"wb", "wb,compress=lz4", "wb,atomic", "wb,journal=off,checksums=off"}) {
    const int first = create(file, {1000}, 512, nullptr, mode);
    EXPECT_EQ(write(first, 'a', 3000), 3000u);
    EXPECT_EQ(sion_flush(first), 1);
    const int second = create(file, {1000}, 512, nullptr, mode);
    ASSERT_GE(second, 0) << sheaf_last_error();
    EXPECT_EQ(write(second, 'b', 2000), 2000u);
    const size_t late = write(first, 'a', 3000);  // buffered, or refused already
    EXPECT_TRUE(late == 3000 || late == 0) << late;
    EXPECT_EQ(sion_flush(first), 0) << mode;
    EXPECT_TRUE(last_error_has("opened it for writing again")) << sheaf_last_error();
    EXPECT_EQ(sion_close(first), SION_NOT_SUCCESS) << mode;
    EXPECT_EQ(write(second, 'b', 2000), 2000u);
    EXPECT_EQ(sion_close(second), 1) << mode << sheaf_last_error();
    EXPECT_EQ(read(file), std::string(4000, 'b')) << mode;
    if (std::string_view(mode) != "wb,atomic") {
      EXPECT_EQ(names(), std::vector<std::string>{"a"}) << mode;
    }
    for (const std::string& name : names()) std::filesystem::remove(path(name));
  }
}

TEST_F(WritersOfOneName, OfTwoAppendsInOneProcessTheLaterOneCounts) {
  const std::string file = path("a");
  int sid = create(file, {1000});
  write(sid, 'a', 3000);
  EXPECT_EQ(sion_close(sid), 1);
  const int first = open_append(file), second = open_append(file);
  ASSERT_GE(first, 0);
  ASSERT_GE(second, 0);
  write(first, 'b', 3000);
  write(second, 'c', 3000);
  EXPECT_EQ(sion_close(first), SION_NOT_SUCCESS);
  EXPECT_EQ(sion_close(second), 1) << sheaf_last_error();
  EXPECT_EQ(read(file), std::string(3000, 'a') + std::string(3000, 'c'));
}

// The new owner writes at the same offsets as the old owner, so no task of the old owner may write after the
// takeover.
TEST_F(WritersOfOneName, NoTaskOfAnAppendWritesAfterATakeOver) {
  char api_name[] = "processes";
  const int api = sion_generic_create_api(api_name);
  sion_generic_register_create_local_commgroup_cb(api, sock_create);
  sion_generic_register_free_local_commgroup_cb(api, sock_free);
  sion_generic_register_barrier_cb(api, sock_barrier);
  sion_generic_register_bcastr_cb(api, sock_bcastr);
  sion_generic_register_gatherr_cb(api, sock_gatherr);
  sion_generic_register_gathervr_cb(api, sock_gathervr);
  sion_generic_register_scatterr_cb(api, sock_scatterr);
  sion_generic_register_scattervr_cb(api, sock_scattervr);
  const std::string file = path("a");
  for (const char* mode : {"append", "append,buffer=0", "append,journal=off"}) {
    int sid = create(file, {1000, 1000});
    for (int task = 0; task < 2; ++task) {
      sion_seek(sid, task, 0, 0);
      write(sid, 'a', 700);
    }
    EXPECT_EQ(sion_close(sid), 1);
    const auto append = [&](SocketEnd& end) {
      sion_int64 chunk = 1000;
      sion_int32 block = 512;
      int numfiles = 1, filenumber = 0;
      const int size = end.size();
      const int own =
          sion_generic_paropen(api, file.c_str(), mode, &chunk, &block, &end, end.rank, end.size(),
                               &filenumber, &numfiles, &end.rank, &size, nullptr, nullptr);
      if (own < 0) return 1;
      if (write(own, 'b', 100) != 100) return 2;
      sock_barrier(&end);
      const pid_t thief = end.rank == 0 ? ::fork() : -1;
      if (thief == 0) {
        const int other = open(file, nullptr, "append,steal");
        for (int task = 0; task < 2; ++task) {
          sion_seek(other, task, SION_CURRENT_BLK, SION_CURRENT_POS);
          if (write(other, 'c', 4000) != 4000) ::_exit(1);
        }
        ::_exit(sion_close(other) == 1 ? 0 : 2);
      }
      int status = 0;
      if (thief > 0 && (::waitpid(thief, &status, 0) != thief || status != 0)) return 3;
      sock_barrier(&end);
      if (write(own, 'b', 100'000) != 0 || !last_error_has("has taken it over")) return 4;
      if (sion_flush(own) == 1) return 5;
      return sion_generic_parclose(own) == 1 ? 6 : 0;
    };
    EXPECT_EQ(on_processes(2, 30, append), (std::vector<int>{0, 0})) << mode;
    for (int task = 0; task < 2; ++task)
      EXPECT_TRUE(read(file, task) == std::string(700, 'a') + std::string(4000, 'c')) << mode << task;
    for (const std::string& name : names()) std::filesystem::remove(path(name));
  }
  EXPECT_EQ(sion_generic_free_api(api), 1);
}

TEST_F(WritersOfOneName, AnotherProcessIsRefusedAndChangesNothing) {
  const std::string file = path("a");
  for (const bool appends : {false, true}) {
    int sid = create(file, {1000});
    std::string expected;
    if (appends) {
      write(sid, 'a', 3000);
      EXPECT_EQ(sion_close(sid), 1);
      expected = std::string(3000, 'a');
      sid = open_append(file);
    }
    EXPECT_EQ(write(sid, 'b', 3000), 3000u);
    EXPECT_EQ(sion_flush(sid), 1);
    const auto refused = [&](const char* mode) {
      const int other = mode[0] == 'w' ? create(file, {1000}, 512, nullptr, mode) : open(file, nullptr, mode);
      return other == -1 && last_error_has("is being written by process " + std::to_string(::getppid())) &&
             last_error_has("steal");
    };
    for (const char* mode : {"wb", "append", "wb,atomic", "wb,journal=off"})
      EXPECT_EQ(in_another_process([&] { return refused(mode); }), 0) << mode;
    EXPECT_EQ(write(sid, 'c', 3000), 3000u);
    EXPECT_EQ(sion_close(sid), 1) << sheaf_last_error();
    EXPECT_EQ(read(file), expected + std::string(3000, 'b') + std::string(3000, 'c'));
    EXPECT_EQ(in_another_process([&] { return open_append(file) >= 0; }), 0) << "it is free again";
  }
}

TEST_F(WritersOfOneName, AKilledOneIsNoObstacle) {
  const std::string file = path("a");
  ASSERT_EQ(in_another_process([&] {
              const int sid = create(file, {1000});
              return write(sid, 'a', 3000) == 3000 && sion_flush(sid) == 1;
            }),
            0);
  EXPECT_TRUE(std::filesystem::exists(file + ".lease"));
  const int sid = create(file, {1000});
  ASSERT_GE(sid, 0) << sheaf_last_error();
  write(sid, 'b', 2000);
  EXPECT_EQ(sion_close(sid), 1);
  EXPECT_EQ(read(file), std::string(2000, 'b'));
  EXPECT_EQ(names(), std::vector<std::string>{"a"});
}

TEST_F(WritersOfOneName, AnOpenThatFailsAfterATakeOverLeavesWhatWasThere) {
  const std::string file = path("a");
  ASSERT_EQ(in_another_process([&] {
              const int sid = create(file, {1000});
              return write(sid, 'a', 3000) == 3000 && sion_flush(sid) == 1;
            }),
            0);
  EXPECT_EQ(create(file, {std::numeric_limits<long long>::max() - 1, 4096}), -1);
  EXPECT_EQ(read(file), std::string(3000, 'a'));
  EXPECT_EQ(names(), (std::vector<std::string>{"a", "a.journal"}));
}

TEST_F(WritersOfOneName, ATakenOverFileKeepsItsModeAndLinksInItsPlace) {
  std::filesystem::create_directory(path("far"));
  const std::string file = path("a");
  std::filesystem::create_symlink("far/a", file);
  ASSERT_EQ(in_another_process([&] { return create(file, {1000}) >= 0; }), 0);
  std::filesystem::permissions(path("far/a"), std::filesystem::perms(0640));
  const int sid = create(file, {1000});
  write(sid, 'b', 20);
  EXPECT_EQ(sion_close(sid), 1) << sheaf_last_error();
  EXPECT_TRUE(std::filesystem::is_symlink(file));
  EXPECT_EQ(std::filesystem::status(path("far/a")).permissions(), std::filesystem::perms(0640));
  EXPECT_EQ(read(file), std::string(20, 'b'));
}

TEST_F(WritersOfOneName, AFileThatWasReplacedOrCutFailsTheFlushAndTheClose) {
  const std::string file = path("a");
  const auto replace = [&] {
    std::filesystem::remove(file);
    std::ofstream(file) << "foreign\n";
  };
  const auto cut = [&](off_t bytes) { EXPECT_EQ(::truncate(file.c_str(), bytes), 0); };
  for (const bool flushes : {true, false})
    for (const int what : {0, 1, 2}) {
      const int sid = create(file, {1000});
      write(sid, 'a', 3000);
      EXPECT_EQ(sion_flush(sid), 1);
      what == 0 ? replace() : cut(what == 1 ? 0 : 2048);
      write(sid, 'a', 3000);
      EXPECT_TRUE(!flushes || sion_flush(sid) == 0) << what;
      EXPECT_EQ(sion_close(sid), SION_NOT_SUCCESS) << what;
      EXPECT_TRUE(last_error_has(what == 0 ? "removed or replaced" : "was cut")) << sheaf_last_error();
      EXPECT_TRUE(what > 0 || std::filesystem::file_size(file) == 8);
      for (const std::string& name : names()) std::filesystem::remove(path(name));
    }
}

class ReadersOfAChangedFile : public WritersOfOneName {
 protected:
  static constexpr size_t bytes = 300'000;
  // Reads the rest of the stream and returns how many of its bytes differ from `letter`.
  static size_t foreign_bytes(int sid, char letter) {
    std::string text(1000, '\0');
    size_t foreign = 0;
    while (const size_t n = sion_fread(text.data(), 1, text.size(), sid))
      foreign +=
          n - static_cast<size_t>(std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(n), letter));
    return foreign;
  }
};

TEST_F(ReadersOfAChangedFile, NeverSeeBytesOfTheNextGeneration) {
  const std::string file = path("a");
  for (const char* mode : {"wb", "wb,checksums=off", "wb,compress=lz4,frame=4k"})
    for (const char* reading : {"rb", "rb,checksums=off", "rb,buffer=0"})
      for (const bool closed : {true, false}) {
        int sid = create(file, {100'000}, 512, nullptr, mode);
        write(sid, 'a', bytes);
        EXPECT_EQ(sion_close(sid), 1);
        const int one = open_rank(file, 0, nullptr, reading), all = open(file, nullptr, reading);
        std::string text(1000, '\0');
        EXPECT_EQ(sion_fread(text.data(), 1, text.size(), one), 1000u);
        sid = create(file, {100'000}, 512, nullptr, mode);
        write(sid, 'b', bytes);
        EXPECT_TRUE(!closed || sion_close(sid) == 1);
        for (const int reader : {one, all}) {
          EXPECT_EQ(foreign_bytes(reader, 'a'), 0u) << mode << reading;
          EXPECT_TRUE(last_error_has("was changed by another program"))
              << mode << reading << sheaf_last_error();
          sion_close(reader);
        }
        EXPECT_TRUE(closed || sion_close(sid) == 1);
        EXPECT_EQ(read(file), std::string(bytes, 'b'));
      }
}

TEST_F(ReadersOfAChangedFile, OfAFileWithoutIdentityAsFarAsThePointerTells) {
  const std::string file = path("a");
  int sid = create(file, {100'000}, 512, nullptr, "wb,checksums=off,journal=off");
  write(sid, 'a', bytes);
  EXPECT_EQ(sion_close(sid), 1);
  const int reader = open_rank(file, 0);
  std::string text(1000, '\0');
  EXPECT_EQ(sion_fread(text.data(), 1, text.size(), reader), 1000u);
  sid = create(file, {100'000}, 512, nullptr, "wb,checksums=off,journal=off");
  write(sid, 'b', bytes);
  EXPECT_EQ(foreign_bytes(reader, 'a'), 0u);
  EXPECT_TRUE(last_error_has("was changed by another program")) << sheaf_last_error();
  sion_close(reader);
  EXPECT_EQ(sion_close(sid), 1);
}

TEST_F(ReadersOfAChangedFile, ReadOnWhileAnAppendLeavesTheirBlocksAlone) {
  const std::string file = path("a");
  int sid = create(file, {400'000});
  write(sid, 'a', bytes);
  EXPECT_EQ(sion_close(sid), 1);
  const int reader = open_rank(file, 0);
  sid = open_append(file);
  write(sid, 'b', 3000);
  EXPECT_EQ(sion_flush(sid), 1);
  EXPECT_EQ(foreign_bytes(reader, 'a'), 0u);
  EXPECT_EQ(sion_get_bytes_read(reader), static_cast<long long>(bytes)) << sheaf_last_error();
  sion_close(reader);
  EXPECT_EQ(sion_close(sid), 1);
  EXPECT_EQ(read(file), std::string(bytes, 'a') + std::string(3000, 'b'));
}

// The appended block overwrites the old checksums. The reader must report the change and return no wrong
// bytes.
TEST_F(ReadersOfAChangedFile, AreToldOfAnAppendWhereItHasTakenTheirChecksums) {
  const std::string file = path("a");
  int sid = create(file, {100'000});
  write(sid, 'a', bytes);
  EXPECT_EQ(sion_close(sid), 1);
  const int reader = open_rank(file, 0);
  sid = open_append(file);
  write(sid, 'b', bytes);
  EXPECT_EQ(sion_close(sid), 1);
  EXPECT_EQ(foreign_bytes(reader, 'a'), 0u);
  EXPECT_TRUE(last_error_has("was changed by another program")) << sheaf_last_error();
  sion_close(reader);
}

}  // namespace
}  // namespace sheaf::test::ownership_test
