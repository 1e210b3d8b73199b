// comm_mpi/mpi_shared_memory: memory that the processes of a communicator share.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>

#include "comm/shared_memory.hpp"

namespace sheaf::mpi {

// Collective over `comm`. Zeros; null on every task if one of them cannot have it, being on another node.
std::shared_ptr<SharedMemory> share_memory(MPI_Comm comm, size_t bytes);

}  // namespace sheaf::mpi
