// Tests that frames leave the queue in the order in which their pieces entered it, whichever thread
// compresses them.
#include "format/codec/frame_queue.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sheaf::codec::frame_queue_test {
namespace {

using Bytes = std::vector<std::byte>;

Bytes piece(int number, size_t bytes) {
  Bytes plain(bytes);
  for (size_t i = 0; i < bytes; ++i) plain[i] = static_cast<std::byte>(i / 100 + static_cast<size_t>(number));
  return plain;
}

class FrameQueueOf : public testing::TestWithParam<int> {};

TEST_P(FrameQueueOf, ThreadsKeepsTheOrder) {
  Compression how{find("zstd")->codec, 1, 0, 10000, GetParam()};
  FrameQueue queue(how);
  int out = 0;
  const auto take = [&](bool wait) {
    const auto frame = queue.front(wait);
    if (!frame) return false;
    const auto head = format::decode_frame(frame->first<format::frame_head_size>());
    EXPECT_EQ(head->at, (format::PlainPlace{out, out}));
    Bytes plain(head->plain);
    FrameDecoder().decode(*head, frame->subspan(format::frame_head_size), plain, "a frame");
    EXPECT_EQ(plain, piece(out, out % 3 == 0 ? 10000 : 50));
    queue.pop();
    ++out;
    return true;
  };
  for (int in = 0; in < 200; ++in) {
    while (queue.full()) take(true);
    queue.push({in, in}, piece(in, in % 3 == 0 ? 10000 : 50));
    if (in % 7 == 0) take(false);
  }
  while (!queue.empty()) take(true);
  EXPECT_EQ(out, 200);
}

TEST_P(FrameQueueOf, ThreadsEndsWithPiecesInIt) {
  Compression how{find("lz4")->codec, 0, 0, 10000, GetParam()};
  for (int i = 0; i < 20; ++i) {
    FrameQueue queue(how);
    for (int in = 0; !queue.full(); ++in) queue.push({in, 0}, piece(in, 10000));
  }
}

// Removes all frames from the queue. Returns whether they have the contents of the pieces `out`, `out` + 1,
// ...
bool drain(FrameQueue& queue, int out) {
  for (; !queue.empty(); ++out) {
    const auto frame = queue.front(true);
    const auto head = format::decode_frame(frame->first<format::frame_head_size>());
    Bytes plain(head->plain);
    FrameDecoder().decode(*head, frame->subspan(format::frame_head_size), plain, "a frame");
    if (plain != piece(out, 10000)) return false;
    queue.pop();
  }
  return true;
}

TEST_P(FrameQueueOf, ThreadsGoesOnInAForkedChild) {
  Compression how{find("zstd")->codec, 3, 0, 10000, GetParam()};
  FrameQueue queue(how);
  int in = 0;
  for (int round = 0; round < 60; ++round) {
    const int first = in;
    do queue.push({in, 0}, piece(in, 10000));
    while (++in % 7 != round % 7 && !queue.full());
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(60);
      int next = in;
      for (; !queue.full(); ++next) queue.push({next, 0}, piece(next, 10000));
      const bool right = drain(queue, first);
      queue.push({0, 0}, piece(0, 10000));
      ::_exit(right && drain(queue, 0) ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "the child hung, or its frames are wrong";
    ASSERT_TRUE(drain(queue, first));
    if (HasFailure()) break;
  }
}

TEST_P(FrameQueueOf, ThreadsEndsInAForkedChild) {
  Compression how{find("zstd")->codec, 3, 0, 10000, GetParam()};
  for (int round = 0; round < 30; ++round) {
    auto queue = std::make_unique<FrameQueue>(how);
    for (int in = 0; !queue->full(); ++in) queue->push({in, 0}, piece(in, 10000));
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(60);
      queue.reset();
      ::_exit(0);
    }
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Codec, FrameQueueOf, testing::Values(0, 1, 3), testing::PrintToStringParamName());

TEST(Threads, AreAsManyAsFindACore) {
  Compression how;
  how.threads = 5;
  EXPECT_EQ(with_threads(how, 1).threads, 5);
  how.threads = Compression::automatic_threads;
  EXPECT_EQ(with_threads(how, 100000).threads, 0);
  EXPECT_LE(with_threads(how, 1).threads, 3);
  EXPECT_GE(with_threads(how, 1).threads, 0);
}

}  // namespace
}  // namespace sheaf::codec::frame_queue_test
