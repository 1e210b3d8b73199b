// comm/mpi/mpi_calls: wrappers of MPI calls.
//
// All throw Error io if the call fails, except free_own(), which destructors use.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <span>

namespace sheaf::mpi {

// Throws Error io "<call>: <MPI_Error_string>" unless `result` is MPI_SUCCESS.
void check(int result, const char* call);

int rank_in(MPI_Comm comm);
int size_of(MPI_Comm comm);
// Frees a communicator that Sheaf created. Does nothing for MPI_COMM_NULL or after MPI_Finalize, when no MPI
// call is allowed.
void free_own(MPI_Comm comm);
// Collective. Duplicates `comm`; the duplicate returns errors instead of aborting.
MPI_Comm duplicate_of(MPI_Comm comm);

// Calls visit(part) for consecutive parts of `data` with at most `most` elements each, because MPI counts are
// `int`.
template <class T, class Visit>
void in_parts(std::span<T> data, size_t most, Visit visit) {
  while (!data.empty()) {
    const auto part = data.first(std::min(most, data.size()));
    visit(part);
    data = data.subspan(part.size());
  }
}

}  // namespace sheaf::mpi
