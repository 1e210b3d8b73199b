// comm_mpi/mpi_comm_pieces: MPI calls whose counts are `int`, for data of any length.
//
// Joined contributions may exceed INT_MAX bytes although MPI_Gatherv and MPI_Scatterv count and displace in
// int. A contribution is small if `size` of its kind fit into one message: small ones go through the
// collective, the others point to point in pieces. So every task knows its own way, and the root that of all,
// without another agreement. All functions are collective over the communicator and throw Error io if an MPI
// call fails.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "comm/comm.hpp"

namespace sheaf::mpi {

// Throws Error io "<call>: <MPI_Error_string>" unless result is MPI_SUCCESS.
void check(int result, const char* call);

int rank_in(MPI_Comm comm);
int size_of(MPI_Comm comm);
// Frees a communicator of our own, unless MPI has ended, when nothing may be called any more.
void free_own(MPI_Comm comm);
// Collective. A communicator of our own, whose errors are returned.
MPI_Comm duplicate_of(MPI_Comm comm);

// A communicator and what is constant about it.
struct Group {
  MPI_Comm comm;
  int rank;
  int size;
  int largest;  // most bytes per message, > 0

  int64_t small() const { return largest / size; }
};

void broadcast(const Group& group, std::span<std::byte> data, int root);

// joined: at the root, as long as all contributions; sizes: at the root, one per task.
void gather(const Group& group, std::span<const std::byte> mine, std::span<std::byte> joined,
            std::span<const int64_t> sizes, int root);

// The reverse. mine: as long as this task's piece.
void scatter(const Group& group, std::span<std::byte> mine, std::span<const std::byte> joined,
             std::span<const int64_t> sizes, int root);

}  // namespace sheaf::mpi
