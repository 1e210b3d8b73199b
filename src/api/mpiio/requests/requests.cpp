#include "api/mpiio/requests/requests.hpp"

#include <memory>

#include "api/mpiio/errors.hpp"

namespace sheaf::mpiio {
namespace {

struct Outcome {
  int64_t bytes = 0;
  int result = MPI_SUCCESS;
};

int query(void* state, MPI_Status* status) {
  const auto* const outcome = static_cast<const Outcome*>(state);
  set_status(status, outcome->bytes);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  return outcome->result;
}

int release(void* state) {
  delete static_cast<Outcome*>(state);
  return MPI_SUCCESS;
}

int cancel(void*, int) { return MPI_SUCCESS; }  // a transfer that has begun is completed

}  // namespace

MPI_Request start_request(const char* function, Worker* worker, std::function<int64_t()> job) {
  auto owned = std::make_unique<Outcome>();
  MPI_Request request = MPI_REQUEST_NULL;
  if (PMPI_Grequest_start(query, release, cancel, owned.get(), &request) != MPI_SUCCESS)
    throw MpiError(MPI_ERR_OTHER, "MPI_Grequest_start failed");
  Outcome* const outcome = owned.release();  // release() deletes it when the program has waited
  auto run = [=, job = std::move(job)]() mutable {
    try {
      outcome->bytes = job();
    } catch (...) {
      outcome->result = class_of_current(function);
    }
    job = nullptr;  // who has waited may end MPI, which what it keeps would still call
    PMPI_Grequest_complete(request);
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
