// comm_mpi/mpi_shared_memory: memory that the processes of a communicator share.
#pragma once

#include <mpi.h>

#include <functional>
#include <memory>
#include <span>

#include "comm/shared_memory.hpp"

namespace sheaf::mpi {

// How the tasks of a group agree on a piece of memory.
struct Agreement {
  std::function<void(std::span<std::byte> data)> broadcast;  // from task 0
  std::function<bool(bool here)> everywhere;                 // whether it is so on all tasks
};
Agreement over_messages(MPI_Comm comm);

// Collective over the tasks of the agreement. Zeros; null on every task if one of them cannot have it, being
// on another node.
std::shared_ptr<SharedMemory> share_memory(const Agreement& agreement, int rank, size_t bytes);

}  // namespace sheaf::mpi
