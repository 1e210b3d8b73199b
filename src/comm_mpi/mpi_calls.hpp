// comm_mpi/mpi_calls: calls of MPI as all files here make them.
//
// All throw Error io if the call fails, but free_own(), which is for destructors.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <span>

namespace sheaf::mpi {

// Throws Error io "<call>: <MPI_Error_string>" unless result is MPI_SUCCESS.
void check(int result, const char* call);

int rank_in(MPI_Comm comm);
int size_of(MPI_Comm comm);
// Frees a communicator of our own, unless there is none, or MPI has ended, when nothing may be called any
// more.
void free_own(MPI_Comm comm);
// Collective. A communicator of our own, whose errors are returned.
MPI_Comm duplicate_of(MPI_Comm comm);

// Counts of MPI are `int`: visit(part) for the parts of `data`, in order, that have `most` elements at most.
template <class T, class Visit>
void in_parts(std::span<T> data, size_t most, Visit visit) {
  while (!data.empty()) {
    const auto part = data.first(std::min(most, data.size()));
    visit(part);
    data = data.subspan(part.size());
  }
}

}  // namespace sheaf::mpi
