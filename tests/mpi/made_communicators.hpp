// mpi/made_communicators: counts the communicators that this process creates. It replaces MPI's functions
// that create them, so only one source of a program may include this header.
#pragma once

#include <mpi.h>

namespace sheaf::test {
inline int made_communicators = 0;
}

extern "C" {
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
  ++sheaf::test::made_communicators;
  return PMPI_Comm_dup(comm, made);
}
int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* made) {
  ++sheaf::test::made_communicators;
  return PMPI_Comm_split(comm, color, key, made);
}
int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* made) {
  ++sheaf::test::made_communicators;
  return PMPI_Comm_split_type(comm, type, key, info, made);
}
}
