#include "mpiio/api/requests/requests.hpp"

#include <memory>

#include "mpiio/api/errors.hpp"
#include "mpiio/api/requests/outcome.hpp"

namespace sheaf::mpiio {
namespace {

int query(void* state, MPI_Status* status) {
  const RequestOutcome* const outcome = static_cast<SharedOutcome*>(state)->get();
  set_status(status, outcome->bytes);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  return WithoutErrors::active() ? MPI_SUCCESS : outcome->result;
}

// Releases the request's state. Some MPI libraries call the function in MPI_Request_free, before the job has
// ended.
int release(void* state) {
  const std::unique_ptr<SharedOutcome> outcome(static_cast<SharedOutcome*>(state));
  (*outcome)->released = true;
  no_longer_watch(**outcome);
  return MPI_SUCCESS;
}

int cancel(void*, int) { return MPI_SUCCESS; }  // a started transfer is always completed

}  // namespace

MPI_Request start_request(const char* function, const FilePointer& file, Worker* worker,
                          std::function<int64_t()> job) {
  const auto outcome = std::make_shared<RequestOutcome>();
  auto owned = std::make_unique<SharedOutcome>(outcome);
  if (PMPI_Grequest_start(query, release, cancel, owned.get(), &outcome->request) != MPI_SUCCESS)
    throw MpiError(MPI_ERR_OTHER, "MPI_Grequest_start failed");
  static_cast<void>(owned.release());  // owned by release() now
  outcome->file = file;
  const MPI_Request request = outcome->request;
  if (worker) watch(outcome);
  auto run = [=, job = std::move(job)]() mutable {
    run_guarded(
        MPI_SUCCESS, [&] { outcome->bytes = job(); },
        [&](const std::exception& error) {
          outcome->result = record_error(function, error);
          outcome->message = last_message();
          return outcome->result;
        });
    // Destroys the captured objects first. They may call MPI, which the program may finalize as soon as the
    // request is complete.
    job = nullptr;
    if (outcome->released) return;
    if (worker && outcome->result == MPI_SUCCESS) no_longer_watch(*outcome);
    if (!worker && outcome->result != MPI_SUCCESS) watch(outcome);
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
