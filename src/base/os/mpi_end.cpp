#include "base/os/mpi_end.hpp"

#include <atomic>

namespace sheaf {

namespace {

constinit std::atomic<void (*)()> at_end{nullptr};

}  // namespace

void before_mpi_ends(void (*action)()) { at_end = action; }

void run_before_mpi_ends() {
  if (auto* const action = at_end.load()) action();
}

}  // namespace sheaf
