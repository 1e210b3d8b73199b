// api/mpiio/requests/requests: nonblocking calls as generalized requests of the MPI library (MPI 3.1,
// section 12.2).
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>

#include "api/mpiio/handles.hpp"
#include "api/mpiio/requests/worker.hpp"

namespace sheaf::mpiio {

// Makes a request on `file` that is complete when `job` has run: on `worker`, or at once if that is null. The
// job returns the bytes transferred, or throws; `function` is the name of the call for messages. Errors reach
// the file's handler in the call that completes the request (outcome.hpp). Throws MpiError if MPI cannot make
// a request.
MPI_Request start_request(const char* function, const FilePointer& file, Worker* worker,
                          std::function<int64_t()> job);

// Whether other threads may call MPI beside the program (MPI_THREAD_MULTIPLE).
bool threads_may_call_mpi();

// What MPI_Get_count and MPI_Get_elements will say. MPI_STATUS_IGNORE is fine.
void set_status(MPI_Status* status, int64_t bytes);

}  // namespace sheaf::mpiio
