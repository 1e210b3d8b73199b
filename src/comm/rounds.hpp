// comm/rounds: many steps of messages, of which two are under way: while a task works on what step k
// brought, the messages of step k+1 travel.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "comm/agree.hpp"
#include "comm/comm.hpp"

namespace sheaf::exchange {

struct Step {
  std::vector<Outgoing> outgoing;
  std::vector<Incoming> incoming;
};

// Collective over `comm`; the same number of steps everywhere. prepare(k)
// returns what this task sends and receives in step k and must not throw; it is called when step k-1 is under
// way and the memory of step k-2 is free again. use(k, received) gets the bytes that came for each incoming.
// What it throws does not end the steps, so that nobody waits in vain: the first such error is returned, and
// later steps are not used.
template <class Prepare, class Use>
std::optional<Error> in_rounds(Comm& comm, int64_t steps, Prepare prepare, Use use) {
  const auto start = [&](int64_t k) {
    Step step = prepare(k);
    return comm.exchange(std::move(step.outgoing), std::move(step.incoming));
  };
  std::optional<Error> problem;
  std::unique_ptr<Exchange> next = steps > 0 ? start(0) : nullptr;
  for (int64_t k = 0; k < steps; ++k) {
    const std::unique_ptr<Exchange> current = std::move(next);
    if (k + 1 < steps) next = start(k + 1);
    const std::vector<int64_t> received = current->finish();
    if (!problem) problem = attempt([&] { use(k, received); });
  }
  return problem;
}

}  // namespace sheaf::exchange
