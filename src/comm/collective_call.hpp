// comm/collective_call: a task runs out of memory in a collective call.
//
// The tasks of a collective call agree on errors (comm/agree). A task without memory for its part of an
// agreement cannot: it leaves the call with std::bad_alloc, while the other tasks wait for its messages in
// MPI or in a barrier of threads. The job then ends with a message, as it does if MPI itself runs out of
// memory. Its files are as after a kill of all tasks.
#pragma once

#include <cerrno>
#include <new>

#include "base/error.hpp"
#include "base/export.hpp"
#include "comm/comm.hpp"

namespace sheaf {

// Prints that memory ran out in `call`, then ends the job.
[[noreturn]] SHEAF_EXPORT void end_without_memory(const JobEnd& end, const char* call);

// Returns the job end of a group of threads or callbacks: abort(). The launcher then ends the other
// processes.
SHEAF_EXPORT JobEnd process_job_end(int rank, int size);

// Runs `body`, a collective call of the group with this job_end(), and returns its result. If `body` throws
// std::bad_alloc, ends the job. In a group that cannot end it, a group of one task, rethrows.
template <class Body>
auto collective_call(const JobEnd& end, const char* call, Body&& body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    if (end.now) end_without_memory(end, call);
    throw;
  }
}

// Runs a part of a collective call in which only the threads of this process agree, like collective_call().
// If they have agreed that memory ran out, the other processes do not know, and the job ends, too.
template <class Body>
auto call_of_one_process(const JobEnd& end, const char* call, Body&& body) {
  try {
    return collective_call(end, call, body);
  } catch (const Error& e) {
    if (e.errno_value() == ENOMEM && end.now) end_without_memory(end, call);
    throw;
  }
}

}  // namespace sheaf
