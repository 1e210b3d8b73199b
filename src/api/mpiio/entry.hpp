// api/mpiio/entry: how the entry points of the MPI-IO drop-in are made.
//
// Every function is here under its PMPI_ name alone, for the library of entry points (front/front.c), which
// programs call under both names. The room itself calls MPI only by PMPI_ names, so that tools do not count
// its calls as the program's.
//
// The MPI library of the program may be another one than that whose mpi.h is read here, with the same binary
// interface: what only some of them have is asked for by name when it is needed.
#pragma once

#include <mpi.h>

#ifdef MPI_ABI  // handles of Fortran are of another library there
using MPI_Fint = int;
extern "C" MPI_Fint PMPI_File_c2f(MPI_File file);
extern "C" MPI_File PMPI_File_f2c(MPI_Fint number);
#endif

namespace sheaf::mpiio {

// The function of the program's MPI library that has this name, or null.
void* find_function(const char* pmpi_name);
// The same; throws Error unsupported if there is none. For the few things that the library's own file handles
// must do (errhandlers.hpp).
void* real_function(const char* pmpi_name);

template <class Function>
Function* real(Function* /*ours, for its type*/, const char* pmpi_name) {
  return reinterpret_cast<Function*>(real_function(pmpi_name));
}

}  // namespace sheaf::mpiio

// real_mpi(File_open): the MPI library's own MPI_File_open.
#define SHEAF_REAL(name) ::sheaf::mpiio::real(&PMPI_##name, "PMPI_" #name)
