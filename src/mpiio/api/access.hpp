// mpiio/api/access: the kinds of data access of MPI-IO (MPI 3.1, section 13.4). One function serves reads and
// writes and all count types. The functions return the result of the entry point.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "mpiio/api/transfer.hpp"

namespace sheaf::mpiio {

enum class PointerKind : uint8_t { none, individual, shared };  // none: explicit offset

struct AccessCall {
  const char* name;  // name of the entry point
  TransferDirection way;
  PointerKind pointer = PointerKind::individual;
  MPI_Offset offset = 0;  // in etypes
};

// Perform (access_one) or start (start_one) a noncollective access.
int access_one(const AccessCall& call, MPI_File handle, const Buffer& buffer, MPI_Status* status);
int start_one(const AccessCall& call, MPI_File handle, const Buffer& buffer, MPI_Request* request);
// Perform (access_all), start (start_all) or split (begin_all, end_all) a collective access. With the shared
// pointer, the access is ordered by rank.
int access_all(const AccessCall& call, MPI_File handle, const Buffer& buffer, MPI_Status* status);
int start_all(const AccessCall& call, MPI_File handle, const Buffer& buffer, MPI_Request* request);
int begin_all(const AccessCall& call, MPI_File handle, const Buffer& buffer, std::string_view family);
int end_all(const char* name, MPI_File handle, MPI_Status* status, std::string_view family);

}  // namespace sheaf::mpiio
