// api/mpiio/entry: how the entry points of the MPI-IO drop-in are made.
//
// Every function exists under its MPI_ and its PMPI_ name, as in an MPI library: Fortran bindings call one or the other,
// and tools that wrap the MPI_ name call the PMPI_ name below. Here the body has the PMPI_ name and the MPI_ name is an
// alias of it. The room itself calls MPI only by PMPI_ names, so that tools do not count its calls as the program's.
#pragma once

#include <mpi.h>

// After the body of PMPI_<name>: gives it the name MPI_<name> too.
#define SHEAF_MPI_ALIAS(name) \
  extern "C" __attribute__((visibility("default"), alias("PMPI_" #name))) decltype(PMPI_##name) MPI_##name;

// Large-count forms exist where mpi.h has them (MPI 4).
#if MPI_VERSION >= 4
#define SHEAF_MPI_LARGE_COUNTS 1
#else
#define SHEAF_MPI_LARGE_COUNTS 0
#endif

namespace sheaf::mpiio {

// The function of the MPI library below that has this name; for the few things that its own file handles must do
// (errhandlers.hpp). Throws Error unsupported if there is none.
void* real_function(const char* pmpi_name);

template <class Function>
Function* real(Function* /*ours, for its type*/, const char* pmpi_name) {
  return reinterpret_cast<Function*>(real_function(pmpi_name));
}

}  // namespace sheaf::mpiio

// real_mpi(File_open): the MPI library's own MPI_File_open.
#define SHEAF_REAL(name) ::sheaf::mpiio::real(&PMPI_##name, "PMPI_" #name)
