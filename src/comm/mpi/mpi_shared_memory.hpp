// comm/mpi/mpi_shared_memory: memory shared by the processes of a communicator.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>

#include "comm/shared_memory.hpp"

namespace sheaf::mpi {

// Collective over `comm`. Allocates zeroed memory. Returns null on every task if any task cannot map it, for
// example because it runs on another host.
std::shared_ptr<SharedMemory> share_memory(MPI_Comm comm, size_t bytes);

}  // namespace sheaf::mpi
