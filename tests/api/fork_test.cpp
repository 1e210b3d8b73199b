// Tests programs that fork while they write. The child may write to a file of its own and to inherited
// multifiles, and no process may hang. As with any FILE*, parent and child must not both write to an
// inherited multifile at the same time. When one has finished, the other may continue.
#include <sys/wait.h>
#include <unistd.h>

#include "api/api_fixture.hpp"

namespace sheaf::test::fork_test {
namespace {

const char* const ways[] = {"wb,compress=zstd:9,frame=16k,compress_threads=3",
                            "wb,compress=lz4,frame=1k,compress_threads=1", "wb",
                            "wb,compress=zstd,frame=16k,compress_threads=2,fileptr=stream"};

class Forks : public Api {
 protected:
  // Appends the next bytes of a task to its stream.
  static bool put(int sid, int task, size_t& done, size_t bytes) {
    const auto data = content(task, static_cast<int64_t>(done), static_cast<int64_t>(bytes));
    done += bytes;
    return sion_fwrite(data.data(), 1, bytes, sid) == bytes;
  }
  static bool holds(const std::string& file, int task, size_t bytes) {
    const int sid = open(file);
    std::vector<std::byte> found(bytes + 1);
    found.resize(sid < 0 ? 0 : sion_fread(found.data(), 1, found.size(), sid));
    return sion_close(sid) == 1 && found == content(task, 0, static_cast<int64_t>(bytes));
  }
  // Runs `act` in a child. `act` must return true within a minute.
  template <class Act>
  static void in_a_child(Act act) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(60);
      ::_exit(act() ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << (WIFSIGNALED(status) ? "the child hung" : "the child failed");
  }
};

TEST_F(Forks, TheParentGoesOnAsIfNothingWere) {
  for (const char* const way : ways) {
    SCOPED_TRACE(way);
    const int sid = create(path("a"), {200'000}, 4096, nullptr, way);
    size_t done = 0;
    for (int round = 0; round < 8; ++round) {
      EXPECT_TRUE(put(sid, 0, done, 70'000));
      in_a_child([&] {  // writes, may flush, and ends without a close
        size_t own = done;
        return put(sid, 0, own, 150'000) && (round % 2 == 0 || sion_flush(sid) == 1);
      });
      in_a_child([&] {
        const int other = create(path("b"), {100'000}, 4096, nullptr, way);
        size_t own = 0;
        for (int i = 0; i < 5; ++i)
          if (!put(other, 5, own, 60'000)) return false;
        return sion_close(other) == 1 && holds(path("b"), 5, own);
      });
    }
    EXPECT_TRUE(put(sid, 0, done, 1000));
    EXPECT_EQ(sion_close(sid), 1);
    EXPECT_TRUE(holds(path("a"), 0, done));
  }
}

// The first process that closes the file completes it. The other process must get an error if it writes more.
TEST_F(Forks, AChildMayCloseWhatItHasInherited) {
  for (const char* const way : ways)
    for (const size_t more : {100, 500'000}) {
      SCOPED_TRACE(way);
      const int sid = create(path("a"), {100'000}, 4096, nullptr, way);
      size_t done = 0;
      EXPECT_TRUE(put(sid, 0, done, 150'000));
      in_a_child([&] {
        size_t own = done;
        return put(sid, 0, own, more) && sion_close(sid) == 1 && holds(path("a"), 0, own);
      });
      const bool added = put(sid, 0, done, 200'000);  // long enough to need a new chunk
      EXPECT_FALSE(added && sion_flush(sid) == 1);
      EXPECT_TRUE(last_error_has("was made complete by somebody else")) << sheaf_last_error();
      EXPECT_EQ(sion_close(sid), 0);
    }
}

}  // namespace
}  // namespace sheaf::test::fork_test
