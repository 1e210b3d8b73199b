// Sends SIGTERM to programs with term=flush. Readers must find everything that the program had written, and
// the program's own action for the signal must follow.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <functional>

#include "api/api_fixture.hpp"

namespace sheaf::test::term_test {
namespace {

// Memory that the program shares with its test.
struct TermSharedMemory {
  std::atomic<int64_t> written;  // bytes of calls that have returned
  std::atomic<int> ready;
  std::atomic<int> handled;
  std::atomic<int64_t> seen;  // value of `written` when the handler ran
};

TermSharedMemory* shared = nullptr;
struct sigaction replaced;  // action that the program's handler replaced

void sleep_ms(long ms) {
  const timespec nap{ms / 1000, ms % 1000 * 1'000'000};
  ::nanosleep(&nap, nullptr);
}

[[noreturn]] void compute() {
  for (;;) asm volatile("");
}

class Term : public Api {
 protected:
  void SetUp() override {
    Api::SetUp();
    void* const memory =
        ::mmap(nullptr, sizeof(TermSharedMemory), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    shared = new (memory) TermSharedMemory{};
  }
  void TearDown() override {
    ::munmap(shared, sizeof(TermSharedMemory));
    Api::TearDown();
  }

  // Runs a program, sends SIGTERM `after` milliseconds after it is ready, and returns its exit status.
  static int run(const std::function<void()>& program, long after = 0) {
    shared->ready = 0;
    shared->handled = 0;
    shared->written = 0;
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(120);
      program();
      ::_exit(77);
    }
    while (shared->ready == 0 && ::waitpid(child, nullptr, WNOHANG) == 0) sleep_ms(1);
    sleep_ms(after);
    ::kill(child, SIGTERM);
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return status;
  }
  static void expect_death(int status) {
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << "status " << status;
  }

  static void put(int sid, int64_t bytes) {
    const int64_t done = shared->written;
    if (sion_fwrite(content(0, done, bytes).data(), 1, static_cast<size_t>(bytes), sid) !=
        static_cast<size_t>(bytes))
      ::_exit(78);
    shared->written += bytes;
  }
  // Checks that the stream of task 0 is a prefix of the written content and has at least `least` bytes.
  static void expect_written(const std::string& file, int64_t least) {
    const int sid = open(file);
    ASSERT_GE(sid, 0) << sheaf_last_error();
    std::vector<std::byte> found(64 << 20);
    found.resize(sion_fread(found.data(), 1, found.size(), sid));
    EXPECT_GE(std::ssize(found), least);
    EXPECT_EQ(found, content(0, 0, std::ssize(found)));
    EXPECT_EQ(sion_close(sid), 1);
  }
};

const char* const ways[] = {"wb,term=flush",
                            "wb,term=flush,compress=zstd,frame=4k,compress_threads=2",
                            "wb,term=flush,compress=lz4,compress_threads=0",
                            "wb,term=flush,durable",
                            "wb,term=flush,buffer=0",
                            "wb,term=flush,fileptr=stream",
                            "wb,term=flush,posix"};

TEST_F(Term, WhatAProgramThatComputesHadWrittenIsThere) {
  for (const char* const way : ways) {
    SCOPED_TRACE(way);
    expect_death(run([&] {
      const int sid = create(path("a"), {5000, 100}, 512, nullptr, way);
      for (int i = 0; i < 40; ++i) put(sid, 333);
      shared->ready = 1;
      compute();
    }));
    expect_written(path("a"), shared->written);
  }
}

TEST_F(Term, WhatAProgramThatWritesHadWrittenIsThere) {
  for (int round = 0; round < 3; ++round)
    for (const char* const way : ways) {
      SCOPED_TRACE(way);
      expect_death(run(
          [&] {
            const int sid = create(path("a"), {5000, 100}, 512, nullptr, way);
            for (int i = 0;; ++i) {
              put(sid, 1 + i % 700);
              shared->ready = 1;
              if (i % 50 == 0) sleep_ms(1);
              while (shared->written > 32 << 20) sleep_ms(1);
            }
          },
          round * 7));
      expect_written(path("a"), shared->written);
    }
}

// The program's bytes are still in a buffer of stdio when the signal arrives: of a FILE* on the physical
// file, or of one that writes through the library. Readers must find these bytes as well.
TEST_F(Term, WhatIsInTheBufferOfTheProgramsStreamIsThere) {
  for (const char* const way :
       {"wb,term=flush", "wb,term=flush,fileptr=stream", "wb,term=flush,fileptr=stream,compress=zstd"}) {
    SCOPED_TRACE(way);
    expect_death(run([&] {
      FILE* fp = nullptr;
      static char buffer[2000];
      create(path("a"), {5000}, 512, &fp, way);
      std::setvbuf(fp, buffer, _IOFBF, sizeof buffer);
      if (std::fwrite(content(0, 0, 1234).data(), 1, 1234, fp) != 1234) ::_exit(78);
      shared->written = 1234;
      shared->ready = 1;
      compute();
    }));
    expect_written(path("a"), 1234);
  }
}

TEST_F(Term, EveryTaskOfASerialProgramIsFlushed) {
  expect_death(run([&] {
    const int sid = create(path("a"), {1000, 1000, 1000}, 512, nullptr, "wb,term=flush");
    for (int task = 0; task < 3; ++task) {
      sion_seek(sid, task, SION_CURRENT_BLK, SION_CURRENT_POS);
      if (sion_fwrite(content(task, 0, 700).data(), 1, 700, sid) != 700) ::_exit(78);
    }
    shared->ready = 1;
    compute();
  }));
  const int sid = open(path("a"));
  for (int task = 0; task < 3; ++task) {
    EXPECT_EQ(sion_seek(sid, task, 0, 0), 1);
    std::vector<std::byte> found(800);
    found.resize(sion_fread(found.data(), 1, found.size(), sid));
    EXPECT_EQ(found, content(task, 0, 700));
  }
  EXPECT_EQ(sion_close(sid), 1);
}

TEST_F(Term, SeveralMultifilesAreFlushed) {
  expect_death(run([&] {
    const int a = create(path("a"), {5000}, 512, nullptr, "wb,term=flush");
    const int closed = create(path("c"), {5000}, 512, nullptr, "wb,term=flush");
    const int b = create(path("b"), {5000}, 512, nullptr, "wb,term=flush,compress=zstd");
    if (sion_close(closed) != 1) ::_exit(78);
    put(a, 3000);
    shared->written = 0;
    put(b, 3000);
    shared->ready = 1;
    compute();
  }));
  expect_written(path("a"), 3000);
  expect_written(path("b"), 3000);
}

void note_and_exit(int) {
  ++shared->handled;
  shared->seen = shared->written.load();
  ::_exit(5);
}
void note(int) { ++shared->handled; }

TEST_F(Term, TheProgramsOwnHandlerIsCalledAfterwards) {
  const int status = run([&] {
    ::signal(SIGTERM, note_and_exit);
    const int sid = create(path("a"), {5000}, 512, nullptr, "wb,term=flush");
    put(sid, 3000);
    shared->ready = 1;
    compute();
  });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 5) << status;
  EXPECT_EQ(shared->handled, 1);
  expect_written(path("a"), 3000);
}

TEST_F(Term, AProgramWhoseHandlerReturnsGoesOnAndCloses) {
  const int status = run([&] {
    ::signal(SIGTERM, note);
    const int sid = create(path("a"), {5000}, 512, nullptr, "wb,term=flush");
    put(sid, 3000);
    shared->ready = 1;
    while (shared->handled == 0) sleep_ms(1);
    for (int i = 0; i < 10; ++i) put(sid, 3000);
    struct sigaction now {};
    ::sigaction(SIGTERM, nullptr, &now);
    if (now.sa_handler != note || sion_close(sid) != 1) ::_exit(78);
    // A multifile that is opened later is flushed by the next signal.
    const int again = create(path("b"), {5000}, 512, nullptr, "wb,term=flush");
    shared->written = 0;
    put(again, 2000);
    ::kill(::getpid(), SIGTERM);
    while (shared->handled == 1) sleep_ms(1);
    ::_exit(6);
  });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 6) << status;
  expect_written(path("a"), 33000);
  expect_written(path("b"), 2000);
}

void chain(int signal, siginfo_t* info, void* context) {
  replaced.sa_sigaction(signal, info, context);
  ++shared->handled;
  ::_exit(7);
}

// The program's handler calls the library's handler. All bytes must be flushed when the library's handler
// returns.
TEST_F(Term, AHandlerInstalledLaterMayCallOurs) {
  const int status = run([&] {
    const int sid = create(path("a"), {5000}, 512, nullptr, "wb,term=flush,compress=zstd");
    put(sid, 3000);
    struct sigaction mine {};
    mine.sa_sigaction = chain;
    mine.sa_flags = SA_SIGINFO;
    ::sigaction(SIGTERM, &mine, &replaced);
    if ((replaced.sa_flags & SA_SIGINFO) == 0) ::_exit(78);
    shared->ready = 1;
    compute();
  });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
  EXPECT_EQ(shared->handled, 1);
  expect_written(path("a"), 3000);
}

TEST_F(Term, AProgramThatIgnoresTheSignalGoesOn) {
  const int status = run([&] {
    ::signal(SIGTERM, SIG_IGN);
    const int sid = create(path("a"), {5000}, 512, nullptr, "wb,term=flush");
    put(sid, 3000);
    shared->ready = 1;
    sleep_ms(200);
    ::_exit(sion_close(sid) == 1 ? 8 : 78);
  });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 8) << status;
}

TEST_F(Term, WithoutTheWordTheActionIsTheProgramsAlone) {
  struct sigaction before {
  }, during{};
  ::sigaction(SIGTERM, nullptr, &before);
  int sid = create(path("a"), {5000}, 512, nullptr, "wb,term=default");
  ::sigaction(SIGTERM, nullptr, &during);
  EXPECT_EQ(during.sa_handler, before.sa_handler);
  EXPECT_EQ(sion_close(sid), 1);
  EXPECT_EQ(create(path("a"), {5000}, 512, nullptr, "wb,term=now"), -1);
  EXPECT_TRUE(last_error_has("term=flush or term=default"));
  // Closing the last multifile with term=flush restores the default action.
  int status = run([&] {
    sid = create(path("a"), {5000}, 512, nullptr, "wb,term=flush");
    struct sigaction now {};
    ::sigaction(SIGTERM, nullptr, &now);
    const bool caught = (now.sa_flags & SA_SIGINFO) != 0;
    const bool closed = sion_close(sid) == 1;
    ::sigaction(SIGTERM, nullptr, &now);
    if (!caught || !closed || now.sa_handler != SIG_DFL) ::_exit(78);
    shared->ready = 1;
    compute();
  });
  expect_death(status);
  expect_written(path("a"), 0);
}

// Only the child gets the signal. The child must end without a change to the parent's multifile, and the
// parent must continue to write.
TEST_F(Term, AForkedChildDoesNotSpeakForItsParent) {
  const int status = run([&] {
    const int sid = create(path("a"), {5000}, 512, nullptr, "wb,term=flush");
    put(sid, 1000);
    const pid_t child = ::fork();
    if (child == 0) compute();
    sleep_ms(50);
    ::kill(child, SIGTERM);
    int ended = -1;
    ::waitpid(child, &ended, 0);
    if (!WIFSIGNALED(ended) || WTERMSIG(ended) != SIGTERM) ::_exit(78);
    const pid_t other = ::fork();
    if (other == 0) {  // child with a multifile of its own
      const int own = create(path("b"), {5000}, 512, nullptr, "wb,term=flush");
      if (sion_fwrite(content(0, 0, 2000).data(), 1, 2000, own) != 2000) ::_exit(78);
      ::kill(::getpid(), SIGTERM);
      compute();
    }
    ::waitpid(other, &ended, 0);
    if (!WIFSIGNALED(ended) || WTERMSIG(ended) != SIGTERM) ::_exit(79);
    put(sid, 1000);
    shared->ready = 1;
    compute();
  });
  expect_death(status);
  expect_written(path("a"), 2000);
  expect_written(path("b"), 2000);
}

}  // namespace
}  // namespace sheaf::test::term_test
