// All MPI calls that complete requests (MPI 3.1, section 3.7; MPI 4.1 adds MPI_Request_get_status_all and its
// variants). Each calls the function of the MPI library, then passes errors of nonblocking calls on files to
// the error handlers of the files (outcome.hpp). While no request is watched, a call only calls the function
// of the library.
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "mpiio/api/entry.hpp"
#include "mpiio/api/requests/outcome.hpp"

using namespace sheaf::mpiio;

namespace {

bool none_watched() { return watched_requests.load(std::memory_order_relaxed) == 0; }

// A watched request in the list of a call.
struct ListedRequest {
  int index;
  SharedOutcome outcome;
};

std::vector<ListedRequest> watched_of(int count, const MPI_Request* requests) {
  std::vector<ListedRequest> found;
  for (int i = 0; i < count; ++i)
    if (SharedOutcome outcome = find_outcome(requests[i])) found.push_back({i, std::move(outcome)});
  return found;
}

const RequestOutcome* outcome_at(const std::vector<ListedRequest>& watched, int index) {
  for (const ListedRequest& one : watched)
    if (one.index == index) return one.outcome.get();
  return nullptr;
}

bool is_in_status(int code) {
  int error_class = MPI_SUCCESS;
  return PMPI_Error_class(code, &error_class) == MPI_SUCCESS && error_class == MPI_ERR_IN_STATUS;
}

// State of a Fortran call during which requests on files have failed. The Fortran bindings must see
// MPI_SUCCESS in order to convert the results of the call (front/fortran.c).
struct FromFortran {
  bool active = false;
  int code = MPI_SUCCESS;  // result of the Fortran call
};
[[gnu::tls_model("initial-exec")]] thread_local constinit FromFortran from_fortran;

// Returns the result of a C function when only requests on files have failed with `code`. In a call from
// Fortran stores `code` for the end of the Fortran call and returns MPI_SUCCESS.
int told(int code) {
  if (!from_fortran.active) return code;
  from_fortran.code = code;
  return MPI_SUCCESS;
}

// The statuses of a call that completes several requests. The error fields of the statuses are valid only if
// the call returns MPI_ERR_IN_STATUS.
class Statuses {
 public:
  // `result` is the code that the MPI library has returned. `count` is the number of statuses that the
  // library has set.
  Statuses(int result, int count, MPI_Status* statuses)
      : only_files_(result == MPI_SUCCESS),
        result_(result),
        count_(count),
        statuses_(statuses == MPI_STATUSES_IGNORE ? nullptr : statuses) {}

  void deliver(const RequestOutcome& outcome, int position) {
    const int code = outcome.deliver();
    if (outcome.result == MPI_SUCCESS) return;
    if (result_ == MPI_SUCCESS) {
      result_ = MPI_ERR_IN_STATUS;
      for (int i = 0; statuses_ && i < count_; ++i) statuses_[i].MPI_ERROR = MPI_SUCCESS;
    }
    if (statuses_ && is_in_status(result_)) statuses_[position].MPI_ERROR = code;
  }
  int result() const { return only_files_ ? told(result_) : result_; }

 private:
  const bool only_files_;  // no error in the MPI library
  int result_;
  const int count_;
  MPI_Status* const statuses_;
};

// Runs complete(), which may complete some of the requests. If any of them is watched, returns
// deliver(result of complete(), watched requests), otherwise the result of complete().
template <class Complete, class Deliver>
int complete_watched(int count, const MPI_Request* requests, Complete complete, Deliver deliver) {
  if (none_watched()) return complete();
  const std::vector<ListedRequest> watched = watched_of(count, requests);
  if (watched.empty()) return complete();
  const WithoutErrors quiet;
  return deliver(complete(), watched);
}

// Runs complete(), which may complete one of the requests and sets *index and *done. Passes an error of the
// request to the handler of its file.
template <class Complete>
int complete_any(int count, const MPI_Request* requests, const int* index, const int* done,
                 Complete complete) {
  return complete_watched(count, requests, complete, [&](int result, const auto& watched) {
    const RequestOutcome* const outcome =
        result == MPI_SUCCESS && *done ? outcome_at(watched, *index) : nullptr;
    return outcome ? told(outcome->deliver()) : result;
  });
}

// Likewise for a single request. Allocates nothing.
template <class Complete>
int complete_one(MPI_Request request, const int* done, Complete complete) {
  if (none_watched()) return complete();
  const SharedOutcome outcome = find_outcome(request);
  if (!outcome) return complete();
  const WithoutErrors quiet;
  const int result = complete();
  return result == MPI_SUCCESS && *done ? told(outcome->deliver()) : result;
}

// Runs complete(), which completes all requests, some of them or none. is_complete(index) returns true for a
// request that was completed.
template <class Complete, class IsComplete>
int complete_all(int count, const MPI_Request* requests, MPI_Status* statuses, Complete complete,
                 IsComplete is_complete) {
  return complete_watched(count, requests, complete, [&](int result, const auto& watched) {
    Statuses all(result, count, statuses);
    for (const ListedRequest& one : watched)
      if (is_complete(one.index)) all.deliver(*one.outcome, one.index);
    return all.result();
  });
}

// Runs complete(), which completes some requests and stores their indices in `indices`.
template <class Complete>
int complete_some(int count, const MPI_Request* requests, const int* completed, const int* indices,
                  MPI_Status* statuses, Complete complete) {
  return complete_watched(count, requests, complete, [&](int result, const auto& watched) {
    if ((result != MPI_SUCCESS && !is_in_status(result)) || *completed == MPI_UNDEFINED) return result;
    Statuses some(result, *completed, statuses);
    for (int i = 0; i < *completed; ++i)
      if (const RequestOutcome* const outcome = outcome_at(watched, indices[i])) some.deliver(*outcome, i);
    return some.result();
  });
}

constexpr int yes = 1;

// Types of functions of MPI 4.1, which mpi.h may not declare at build time. late_function() returns null if
// the MPI library lacks the function.
template <class... Arguments>
using MpiFunction = int (*)(Arguments...);
template <class Function>
Function late_function(const char* pmpi_name) {
  return reinterpret_cast<Function>(find_function(pmpi_name));
}

}  // namespace

extern "C" {

void sheaf_mpiio_begin_fortran() { from_fortran = {.active = true}; }
int sheaf_mpiio_end_fortran() { return std::exchange(from_fortran, {}).code; }

int PMPI_Wait(MPI_Request* request, MPI_Status* status) {
  static const auto own = SHEAF_REAL(Wait);
  return complete_one(*request, &yes, [&] { return own(request, status); });
}

int PMPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  static const auto own = SHEAF_REAL(Test);
  return complete_one(*request, flag, [&] { return own(request, flag, status); });
}

int PMPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  static const auto own = SHEAF_REAL(Request_get_status);
  return complete_one(request, flag, [&] { return own(request, flag, status); });
}

int PMPI_Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  static const auto own = SHEAF_REAL(Waitany);
  return complete_any(count, requests, index, &yes, [&] { return own(count, requests, index, status); });
}

int PMPI_Testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  static const auto own = SHEAF_REAL(Testany);
  return complete_any(count, requests, index, flag,
                      [&] { return own(count, requests, index, flag, status); });
}

// A completed request has become MPI_REQUEST_NULL, even if the call returns an error.
int PMPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  static const auto own = SHEAF_REAL(Waitall);
  return complete_all(
      count, requests, statuses, [&] { return own(count, requests, statuses); },
      [&](int index) { return requests[index] == MPI_REQUEST_NULL; });
}

int PMPI_Testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  static const auto own = SHEAF_REAL(Testall);
  return complete_all(
      count, requests, statuses, [&] { return own(count, requests, flag, statuses); },
      [&](int index) { return requests[index] == MPI_REQUEST_NULL; });
}

int PMPI_Waitsome(int count, MPI_Request requests[], int* completed, int indices[], MPI_Status statuses[]) {
  static const auto own = SHEAF_REAL(Waitsome);
  return complete_some(count, requests, completed, indices, statuses,
                       [&] { return own(count, requests, completed, indices, statuses); });
}

int PMPI_Testsome(int count, MPI_Request requests[], int* completed, int indices[], MPI_Status statuses[]) {
  static const auto own = SHEAF_REAL(Testsome);
  return complete_some(count, requests, completed, indices, statuses,
                       [&] { return own(count, requests, completed, indices, statuses); });
}

int PMPI_Request_get_status_any(int count, const MPI_Request requests[], int* index, int* flag,
                                MPI_Status* status) {
  using Function = MpiFunction<int, const MPI_Request*, int*, int*, MPI_Status*>;
  static const auto own = late_function<Function>("PMPI_Request_get_status_any");
  if (!own) return MPI_ERR_UNSUPPORTED_OPERATION;
  return complete_any(count, requests, index, flag,
                      [&] { return own(count, requests, index, flag, status); });
}

int PMPI_Request_get_status_all(int count, const MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  using Function = MpiFunction<int, const MPI_Request*, int*, MPI_Status*>;
  static const auto own = late_function<Function>("PMPI_Request_get_status_all");
  if (!own) return MPI_ERR_UNSUPPORTED_OPERATION;
  return complete_all(
      count, requests, statuses, [&] { return own(count, requests, flag, statuses); },
      [&](int) { return *flag != 0; });
}

int PMPI_Request_get_status_some(int count, const MPI_Request requests[], int* completed, int indices[],
                                 MPI_Status statuses[]) {
  using Function = MpiFunction<int, const MPI_Request*, int*, int*, MPI_Status*>;
  static const auto own = late_function<Function>("PMPI_Request_get_status_some");
  if (!own) return MPI_ERR_UNSUPPORTED_OPERATION;
  return complete_some(count, requests, completed, indices, statuses,
                       [&] { return own(count, requests, completed, indices, statuses); });
}

}  // extern "C"
