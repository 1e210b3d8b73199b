#include <dlfcn.h>

#include <string>

#include "api/mpiio/entry.hpp"
#include "base/error.hpp"

namespace sheaf::mpiio {

void* real_function(const char* pmpi_name) {
  // This library names its MPI library as needed, so that the next one with the name is the MPI library also where it
  // is loaded privately (Python).
  if (void* const found = dlsym(RTLD_NEXT, pmpi_name)) return found;
  throw Error(Code::unsupported, std::string("the MPI library has no ") + pmpi_name);
}

}  // namespace sheaf::mpiio
