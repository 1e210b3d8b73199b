#include "api/mpiio/requests/requests.hpp"

#include <atomic>
#include <memory>

#include "api/mpiio/errors.hpp"

namespace sheaf::mpiio {
namespace {

struct Outcome {
  int64_t bytes = 0;
  int result = MPI_SUCCESS;
  std::atomic<bool> released = false;  // the program has given the request back
};
using SharedOutcome = std::shared_ptr<Outcome>;  // of the job and, in memory of its own, of the request

int query(void* state, MPI_Status* status) {
  const Outcome* const outcome = static_cast<SharedOutcome*>(state)->get();
  set_status(status, outcome->bytes);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  return outcome->result;
}

// Of some MPIs it is called before the job has ended, by MPI_Request_free.
int release(void* state) {
  const std::unique_ptr<SharedOutcome> outcome(static_cast<SharedOutcome*>(state));
  (*outcome)->released = true;
  return MPI_SUCCESS;
}

int cancel(void*, int) { return MPI_SUCCESS; }  // a transfer that has begun is completed

}  // namespace

MPI_Request start_request(const char* function, Worker* worker, std::function<int64_t()> job) {
  const auto outcome = std::make_shared<Outcome>();
  auto owned = std::make_unique<SharedOutcome>(outcome);
  MPI_Request request = MPI_REQUEST_NULL;
  if (PMPI_Grequest_start(query, release, cancel, owned.get(), &request) != MPI_SUCCESS)
    throw MpiError(MPI_ERR_OTHER, "MPI_Grequest_start failed");
  static_cast<void>(owned.release());  // release() has it
  auto run = [=, job = std::move(job)]() mutable {
    try {
      outcome->bytes = job();
    } catch (...) {
      outcome->result = class_of_current(function);
    }
    job = nullptr;  // who has waited may end MPI, which what it keeps would still call
    if (!outcome->released) PMPI_Grequest_complete(request);
  };
  if (worker) {
    worker->add(std::move(run));
  } else {
    run();
  }
  return request;
}

bool threads_may_call_mpi() {
  int level = MPI_THREAD_SINGLE;
  PMPI_Query_thread(&level);
  return level == MPI_THREAD_MULTIPLE;
}

void set_status(MPI_Status* status, int64_t bytes) {
  if (status == MPI_STATUS_IGNORE) return;
  PMPI_Status_set_elements_x(status, MPI_BYTE, bytes);
  PMPI_Status_set_cancelled(status, 0);
}

}  // namespace sheaf::mpiio
