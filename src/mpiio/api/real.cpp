#include <dlfcn.h>

#include <string>

#include "base/error.hpp"
#include "base/export.hpp"
#include "mpiio/api/entry.hpp"

namespace {
void* mpi_library = nullptr;
}

// Stores the handle of the program's MPI library. The front library (front/front.c) calls it once, before any
// other function of this library.
extern "C" SHEAF_EXPORT void sheaf_mpiio_begin(void* handle_of_mpi) { mpi_library = handle_of_mpi; }

namespace sheaf::mpiio {

void* find_function(const char* pmpi_name) { return dlsym(mpi_library, pmpi_name); }

void* real_function(const char* pmpi_name) {
  if (void* const found = find_function(pmpi_name)) return found;
  throw Error(Code::unsupported, std::string("the MPI library has no ") + pmpi_name);
}

}  // namespace sheaf::mpiio
