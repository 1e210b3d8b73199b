// mpiio/api/entry: access to the functions of the program's MPI library.
//
// The engine defines every entry point under its PMPI_ name only. The front library (front/front.c) exports
// both names to the program. The module itself calls MPI only by PMPI_ names, so that profiling tools do not
// attribute its calls to the program.
//
// The program's MPI library may differ from the one that provided mpi.h at build time, as long as the binary
// interface is the same. Functions that only some libraries have are therefore looked up by name at run time.
#pragma once

#include <mpi.h>

#ifdef MPI_ABI  // the ABI leaves Fortran handles to another library
using MPI_Fint = int;
extern "C" MPI_Fint PMPI_File_c2f(MPI_File file);
extern "C" MPI_File PMPI_File_f2c(MPI_Fint number);
#endif

namespace sheaf::mpiio {

// Returns the function `pmpi_name` of the program's MPI library, or null if the library lacks it.
void* find_function(const char* pmpi_name);
// Like find_function, but throws Error unsupported if the function is missing. For the few operations on file
// handles of the MPI library itself (errhandlers.hpp).
void* real_function(const char* pmpi_name);

template <class Function>
Function* real(Function* /*ours, for its type*/, const char* pmpi_name) {
  return reinterpret_cast<Function*>(real_function(pmpi_name));
}

}  // namespace sheaf::mpiio

// SHEAF_REAL(File_open): the MPI_File_open of the MPI library.
#define SHEAF_REAL(name) ::sheaf::mpiio::real(&PMPI_##name, "PMPI_" #name)
