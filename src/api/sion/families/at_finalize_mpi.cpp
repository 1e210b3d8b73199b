#include <mpi.h>

#include "api/sion/families/at_finalize.hpp"
#include "api/sion/forgotten.hpp"
#include "comm/agree.hpp"
#include "comm/mpi/mpi_calls.hpp"

namespace sheaf::api {

namespace {

// Called when MPI_Finalize deletes the attributes of MPI_COMM_SELF, which it does while all of MPI still
// works (MPI 3.1, section 8.7.1).
int on_finalize(MPI_Comm, int, void*, void*) {
  attempt(end_with_mpi);
  return MPI_SUCCESS;
}

// Replaces MPI_COMM_NULL_COPY_FN, which is a macro or a different symbol in each MPI library.
int on_copy(MPI_Comm, int, void*, void*, void*, int* copied) {
  *copied = 0;
  return MPI_SUCCESS;
}

}  // namespace

void watch_finalize() {
  static const bool watched = [] {
    int key = MPI_KEYVAL_INVALID;
    mpi::check(MPI_Comm_create_keyval(on_copy, on_finalize, &key, nullptr), "MPI_Comm_create_keyval");
    mpi::check(MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr), "MPI_Comm_set_attr");
    mpi::check(MPI_Comm_free_keyval(&key), "MPI_Comm_free_keyval");
    return true;
  }();
  static_cast<void>(watched);
}

}  // namespace sheaf::api
