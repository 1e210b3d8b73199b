// comm/mpi/mpi_exchange: messages between single ranks, in flight while the caller does other work; the same
// by collective calls of MPI; and the collective calls that consist of such messages.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "comm/comm.hpp"

namespace sheaf::mpi {

// Implements Comm::exchange(). Only tasks that name each other as peers wait for each other. Messages match
// only messages of the same `tag`.
std::unique_ptr<Exchange> start_exchange(MPI_Comm comm, int tag, const std::vector<Outgoing>& outgoing,
                                         const std::vector<Incoming>& incoming);

// Implements Comm::exchanger() for `method` alltoallv or neighbours. An alltoallv of more than `limit` bytes
// (`largest` > `limit`) uses MPI_Ialltoallw with datatypes instead of counts. Datatypes consist of blocks of
// at most `limit` bytes, so no count exceeds it. Messages of MPI_Ineighbor_alltoallw always use datatypes.
std::unique_ptr<Exchanger> make_exchanger(MPI_Comm comm, ExchangeMethod method, std::span<const int> peers,
                                          int64_t largest, size_t limit);

// Implement Comm::gather() and Comm::scatter() with messages of at most `largest` bytes. gather_pieces()
// stores the contributions in `all` at the root. scatter_pieces() stores the piece of this task in `mine` and
// returns its length. If all `pieces.sizes` of the root are negative, it moves no pieces and returns the
// negative size of this task.
void gather_pieces(MPI_Comm comm, std::span<const std::byte> mine, Gathered& all, int root, size_t largest);
int64_t scatter_pieces(MPI_Comm comm, const Gathered& pieces, std::vector<std::byte>& mine, int root,
                       size_t largest);

}  // namespace sheaf::mpi
