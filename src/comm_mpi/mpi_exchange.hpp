// comm_mpi/mpi_exchange: messages between single ranks, under way while the caller does other things.
#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "comm/comm.hpp"

namespace sheaf::mpi {

// Comm::exchange. Only those named as peers wait for each other. Those of one `tag` are for each other.
std::unique_ptr<Exchange> start_exchange(MPI_Comm comm, int tag, const std::vector<Outgoing>& outgoing,
                                         const std::vector<Incoming>& incoming);

}  // namespace sheaf::mpi
