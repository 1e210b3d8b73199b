// comm/rounds: a pipeline of message steps with two steps in flight. While a task processes what step k
// received, the messages of step k+1 are transferred.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/assert.hpp"
#include "comm/agree.hpp"
#include "comm/comm.hpp"

namespace sheaf {

struct StepMessages {
  std::vector<Outgoing> outgoing;
  std::vector<Incoming> incoming;
};

// Collective over `comm`, with the same number of steps on all tasks. prepare(k) returns the messages of this
// task in step k and must not throw. It is called while step k-1 is in flight; it may reuse the memory of
// step k-2. use(k, received) gets the number of bytes received for each incoming message. If use() throws,
// the remaining steps still run without calling use(), because the other tasks wait for their messages.
// Returns the error that use() threw, if any.
template <class Prepare, class Use>
std::optional<Error> in_rounds(Comm& comm, int64_t steps, Prepare prepare, Use use) {
  SHEAF_ASSERT(steps >= 0);
  const auto start = [&](int64_t k) {
    StepMessages step = prepare(k);
    return comm.exchange(std::move(step.outgoing), std::move(step.incoming));
  };
  std::optional<Error> problem;
  std::unique_ptr<Exchange> next = steps > 0 ? start(0) : nullptr;
  for (int64_t k = 0; k < steps; ++k) {
    const std::unique_ptr<Exchange> current = std::move(next);
    if (k + 1 < steps) next = start(k + 1);
    const std::vector<int64_t> received = current->finish();
    SHEAF_ASSERT(current && (k + 1 == steps || next));  // at most two steps are in flight
    if (!problem) problem = attempt([&] { use(k, received); });
  }
  return problem;
}

}  // namespace sheaf
