// api/mpiio/access: the kinds of data access of MPI-IO (MPI 3.1, section 13.4), each once for reading and
// writing and for all types of counts. They return what the entry points return.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "api/mpiio/transfer.hpp"

namespace sheaf::mpiio {

enum class Pointer : uint8_t { none, individual, shared };  // none: an explicit offset

struct Call {
  const char* name;  // of the entry point
  Way way;
  Pointer pointer = Pointer::individual;
  MPI_Offset offset = 0;  // in etypes
};

// Noncollective, blocking and nonblocking.
int access_one(const Call& call, MPI_File handle, const Buffer& buffer, MPI_Status* status);
int start_one(const Call& call, MPI_File handle, const Buffer& buffer, MPI_Request* request);
// Collective, blocking, nonblocking and split; with the shared pointer: ordered.
int access_all(const Call& call, MPI_File handle, const Buffer& buffer, MPI_Status* status);
int start_all(const Call& call, MPI_File handle, const Buffer& buffer, MPI_Request* request);
int begin_all(const Call& call, MPI_File handle, const Buffer& buffer, std::string_view family);
int end_all(const char* name, MPI_File handle, MPI_Status* status, std::string_view family);

}  // namespace sheaf::mpiio
