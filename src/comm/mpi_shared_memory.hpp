// comm/mpi_shared_memory: memory that the processes of a communicator share.
#pragma once

#include <mpi.h>

#include <memory>

#include "comm/shared_memory.hpp"

namespace sheaf::mpi {

// Collective over `comm`, all of whose tasks are on one node. Zeros; null on every task if the memory cannot be had.
std::shared_ptr<SharedMemory> share_memory(MPI_Comm comm, size_t bytes);

}  // namespace sheaf::mpi
