// comm/mpi/mpi_exchange: messages between single ranks, in flight while the caller does other work.
#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "comm/comm.hpp"

namespace sheaf::mpi {

// Implements Comm::exchange(). Only tasks that name each other as peers wait for each other. Messages match
// only messages of the same `tag`.
std::unique_ptr<Exchange> start_exchange(MPI_Comm comm, int tag, const std::vector<Outgoing>& outgoing,
                                         const std::vector<Incoming>& incoming);

}  // namespace sheaf::mpi
