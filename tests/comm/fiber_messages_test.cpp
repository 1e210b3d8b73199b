// Tests messages between fibers: matching, gathering and scattering, times in the modelled network, and the
// death of a task.
#include "support/fibers/fiber_messages.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "support/fibers/fiber_comm.hpp"

namespace sheaf::fiber_messages_test {
namespace {

const NetworkModel model{1.0, 10.0};  // latency of one second, ten bytes per second

void run(int tasks, FiberNetwork& network, const std::function<void(int, Messages&)>& body) {
  FiberOptions options;
  options.ranks = tasks;
  options.stack_bytes = 64 << 10;
  run_fibers(options, [&](Comm& comm) { body(comm.rank(), *network.endpoint(comm.rank())); });
}

void wait(Messages& messages, Transfer& transfer) {
  while (!transfer.done()) messages.back_off(0);
}

MemoryRun run_of_text(std::string& text) { return run_of(std::as_bytes(std::span(text))); }

TEST(FiberMessages, PiecesAreGatheredAndSpread) {
  FiberNetwork network(2);
  run(2, network, [](int rank, Messages& messages) {
    std::string text = rank == 0 ? "abcdefghij" : "..........";
    auto* const at = reinterpret_cast<std::byte*>(text.data());
    if (rank == 0) {
      const MemoryRun pieces[] = {{at + 8, 2, 2, 1}, {at, 1, 2, 4}};  // bytes i j a c e g
      wait(messages, *messages.send(1, 7, pieces));
    } else {
      const MemoryRun room[] = {{at, 2, 3, 3}};
      const auto received = messages.receive(Messages::any_task, 7, room);
      wait(messages, *received);
      EXPECT_EQ(received->bytes(), 6);
      EXPECT_EQ(received->peer(), 0);
      EXPECT_EQ(text, "ij.ac.eg..");
    }
  });
}

TEST(FiberMessages, TakeLatencyAndTheTimeOfTheirBytes) {
  FiberNetwork network(3, model);
  std::vector<double> arrivals;
  run(3, network, [&](int rank, Messages& messages) {
    std::string text(20, 'x');
    const MemoryRun run = run_of_text(text);
    if (rank > 0) return wait(messages, *messages.send(0, 1, {&run, 1}));
    for (int i = 0; i < 2; ++i) {
      const auto received = messages.receive(Messages::any_task, 1, {&run, 1});
      wait(messages, *received);
      arrivals.push_back(network.now());
    }
  });
  // Both messages are sent at the same time. The receiving port transfers them one after the other.
  EXPECT_EQ(arrivals, (std::vector<double>{3, 5}));
}

TEST(FiberMessages, TagsAndSendersAreKeptApart) {
  FiberNetwork network(3, model);
  run(3, network, [](int rank, Messages& messages) {
    std::string text = std::to_string(rank);
    const MemoryRun run = run_of_text(text);
    if (rank > 0) return wait(messages, *messages.send(0, rank, {&run, 1}));
    std::string second = "?", none = "?";
    const MemoryRun room = run_of_text(second), other = run_of_text(none);
    const auto never = messages.receive(1, 2, {&other, 1});
    wait(messages, *messages.receive(2, 2, {&room, 1}));
    EXPECT_EQ(second, "2");
    EXPECT_FALSE(never->done());
  });
}

// A task must receive messages in the order of their arrival, not of their sending. A message that waits for
// an earlier message of its sender arrives later.
TEST(FiberMessages, AreTakenInTheOrderInWhichTheyArrive) {
  FiberNetwork network(4, model);
  std::vector<int> peers;
  run(4, network, [&](int rank, Messages& messages) {
    std::string text(10, 'x'), more(100, 'x');
    const MemoryRun run = run_of_text(text), much = run_of_text(more);
    if (rank == 3) return wait(messages, *messages.receive(1, 1, {&much, 1}));
    if (rank == 1) wait(messages, *messages.send(3, 1, {&much, 1}));
    if (rank > 0) return wait(messages, *messages.send(0, 1, {&run, 1}));
    network.spend(20);
    for (int i = 0; i < 2; ++i) {
      const auto received = messages.receive(Messages::any_task, 1, {&run, 1});
      wait(messages, *received);
      peers.push_back(received->peer());
    }
  });
  EXPECT_EQ(peers, (std::vector<int>{2, 1}));
}

TEST(FiberMessages, TooLongForItsRoom) {
  FiberNetwork network(2, model);
  run(2, network, [&](int rank, Messages& messages) {
    std::string text(4, 'x');
    const MemoryRun whole = run_of_text(text);
    if (rank == 0) return wait(messages, *messages.send(1, 1, {&whole, 1}));
    const MemoryRun half{whole.at, 2, 2, 1};
    const auto received = messages.receive(0, 1, {&half, 1});
    EXPECT_THROW(wait(messages, *received), Error);
  });
}

}  // namespace
}  // namespace sheaf::fiber_messages_test
