// mpiio/api/requests/requests: nonblocking calls as generalized requests of the MPI library (MPI 3.1,
// section 12.2).
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>

#include "mpiio/api/handles.hpp"
#include "mpiio/api/requests/worker.hpp"

namespace sheaf::mpiio {

// Creates a request on `file` that completes when `job` has run. The job runs on `worker`, or before the call
// returns if `worker` is null. The job returns the bytes transferred, or throws. `function` is the name of
// the call in messages. Errors reach the handler of the file in the call that completes the request
// (outcome.hpp). Throws MpiError if MPI cannot create a request.
MPI_Request start_request(const char* function, const FilePointer& file, Worker* worker,
                          std::function<int64_t()> job);

// Returns true if library threads may call MPI concurrently with the program (MPI_THREAD_MULTIPLE).
bool threads_may_call_mpi();

// Sets the count that MPI_Get_count and MPI_Get_elements return, in bytes. Accepts MPI_STATUS_IGNORE.
void set_status(MPI_Status* status, int64_t bytes);

}  // namespace sheaf::mpiio
