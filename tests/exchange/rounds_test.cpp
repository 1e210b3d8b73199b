#include "comm/rounds.hpp"

#include <gtest/gtest.h>

#include <array>

#include "support/fibers/fiber_comm.hpp"

namespace sheaf::exchange::rounds_test {
namespace {

// Task k sends its number to task 0 in step k. With `fails`, use() throws in step 2. All steps must run, also
// after the failure.
TEST(Rounds, CarryOutAllStepsAlsoAfterAFailure) {
  for (const bool fails : {false, true}) {
    std::vector<int64_t> got;
    std::vector<std::string> order;
    run_fibers({.ranks = 5}, [&](Comm& comm) {
      int64_t mine = 100 + comm.rank();
      std::array<int64_t, 2> receive_buffers{};
      const auto problem = in_rounds(
          comm, 5,
          [&](int64_t k) {
            if (comm.rank() == 0) order.push_back("p" + std::to_string(k));
            StepMessages step;
            if (comm.rank() == k) step.outgoing.push_back({0, std::as_bytes(std::span(&mine, 1))});
            if (comm.rank() == 0)
              step.incoming.push_back(
                  {static_cast<int>(k),
                   std::as_writable_bytes(std::span(&receive_buffers[static_cast<size_t>(k % 2)], 1))});
            return step;
          },
          [&](int64_t k, const std::vector<int64_t>& received) {
            if (comm.rank() != 0) return;
            order.push_back("u" + std::to_string(k));
            if (fails && k == 2) throw Error(Code::no_space, "full");
            got.push_back(receive_buffers[static_cast<size_t>(k % 2)] + 0 * received.at(0));
          });
      if (problem.has_value() != (fails && comm.rank() == 0)) throw std::logic_error("failure");
    });
    if (fails) {
      EXPECT_EQ(got, (std::vector<int64_t>{100, 101}));
    } else {
      EXPECT_EQ(got, (std::vector<int64_t>{100, 101, 102, 103, 104}));
      EXPECT_EQ(order,
                (std::vector<std::string>{"p0", "p1", "u0", "p2", "u1", "p3", "u2", "p4", "u3", "u4"}));
    }
  }
}

}  // namespace
}  // namespace sheaf::exchange::rounds_test
