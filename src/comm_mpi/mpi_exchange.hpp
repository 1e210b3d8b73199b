// comm_mpi/mpi_exchange: messages between single ranks, under way while the caller does other things.
#pragma once

#include <memory>
#include <vector>

#include "comm/comm.hpp"
#include "comm_mpi/mpi_comm_pieces.hpp"

namespace sheaf::mpi {

// Comm::exchange. Only those named as peers wait for each other.
std::unique_ptr<Exchange> start_exchange(MPI_Comm comm, std::vector<Outgoing> outgoing,
                                         std::vector<Incoming> incoming);

}  // namespace sheaf::mpi
