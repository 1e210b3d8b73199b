#include "api/mpiio/access.hpp"

#include <exception>
#include <memory>

#include "api/mpiio/errors.hpp"
#include "api/mpiio/requests/requests.hpp"
#include "base/checked.hpp"
#include "comm/agree.hpp"

namespace sheaf::mpiio {
namespace {

// Below, a nonblocking call is carried out at once: handing it to a thread costs more.
constexpr int64_t worth_a_thread = 1 << 20;

// Takes the place of the transfer in the view's stream; the pointer, if one is meant, moves on.
int64_t claim(OpenFile& file, const Call& call, int64_t bytes) {
  if (call.pointer != Pointer::shared && file.is_sequential())
    throw MpiError(MPI_ERR_UNSUPPORTED_OPERATION,
                   "files opened with MPI_MODE_SEQUENTIAL are accessed by the shared pointer");
  if (call.pointer == Pointer::individual) return file.file->claim_individual(bytes);
  if (call.pointer == Pointer::shared) return file.file->claim_shared(bytes);
  if (call.offset < 0) throw MpiError(MPI_ERR_ARG, "an offset is negative");
  return must_fit(checked_mul(call.offset, file.etype_size()), "an offset");
}

std::shared_ptr<Transfer> prepare(OpenFile& file, const Call& call, const Buffer& buffer, bool later) {
  auto transfer = std::make_shared<Transfer>(file, call.way, buffer, later);
  transfer->place(claim(file, call, transfer->bytes()));
  return transfer;
}

// Collective: makes all tasks fail with what this one is about to throw, and throws it.
[[noreturn]] void fail_all(OpenFile& file, Sequence& sequence, Way way, const std::exception_ptr& problem) {
  const auto told = attempt([&] { std::rethrow_exception(problem); });
  attempt([&] { file.file->fail_all(sequence, way == Way::writes, *told); });
  std::rethrow_exception(problem);
}

// Collective. The ordered place is found together, so a task with a problem takes part in that as well.
int64_t carry_out(OpenFile& file, const Call& call, const Buffer& buffer) {
  Sequence& sequence = file.file->sequence();
  const bool ordered = call.pointer == Pointer::shared;
  std::optional<Transfer> transfer;
  std::exception_ptr problem;
  try {
    transfer.emplace(file, call.way, buffer);
    if (!ordered) transfer->place(claim(file, call, transfer->bytes()));
  } catch (...) {
    problem = std::current_exception();
  }
  if (ordered) {
    const int64_t place = file.file->claim_ordered(sequence, problem ? 0 : transfer->bytes());
    if (!problem) transfer->place(place);
  }
  if (problem) fail_all(file, sequence, call.way, problem);
  return transfer->together(sequence);
}

// Large transfers by a thread, if threads may be at work.
void start_alone(OpenFile& file, const Call& call, MPI_File handle, const Buffer& buffer,
                 MPI_Request* request) {
  *request = MPI_REQUEST_NULL;
  const bool threads = file.later != nullptr;
  const auto transfer = prepare(file, call, buffer, threads);
  Worker* const worker = threads && transfer->bytes() >= worth_a_thread ? &independent_worker() : nullptr;
  const FilePointer kept = find_file(handle);
  *request = start_request(call.name, kept, worker, [transfer, kept] { return transfer->alone(); });
}

}  // namespace

int access_one(const Call& call, MPI_File handle, const Buffer& buffer, MPI_Status* status) {
  return on_file(call.name, handle, [&](OpenFile& file) {
    Transfer transfer(file, call.way, buffer);
    transfer.place(claim(file, call, transfer.bytes()));
    set_status(status, transfer.alone());
  });
}

int start_one(const Call& call, MPI_File handle, const Buffer& buffer, MPI_Request* request) {
  return on_file(call.name, handle,
                 [&](OpenFile& file) { start_alone(file, call, handle, buffer, request); });
}

int access_all(const Call& call, MPI_File handle, const Buffer& buffer, MPI_Status* status) {
  return on_file(call.name, handle,
                 [&](OpenFile& file) { set_status(status, carry_out(file, call, buffer)); });
}

// Without threads that may talk to other tasks, each task does its part alone: no call may wait for others
// here.
int start_all(const Call& call, MPI_File handle, const Buffer& buffer, MPI_Request* request) {
  return on_file(call.name, handle, [&](OpenFile& file) {
    if (!file.later) return start_alone(file, call, handle, buffer, request);
    *request = MPI_REQUEST_NULL;
    try {
      if (!file.worker) file.worker = std::make_unique<Worker>();
    } catch (...) {  // no thread is to be had: this one tells the others, once they have come
      fail_all(file, *file.later, call.way, std::current_exception());
    }
    try {
      const auto transfer = prepare(file, call, buffer, true);
      *request = start_request(call.name, find_file(handle), file.worker.get(),
                               [&file, transfer] { return transfer->together(*file.later); });
    } catch (...) {
      file.worker->add([&file, way = call.way, problem = std::current_exception()] {
        try {
          fail_all(file, *file.later, way, problem);
        } catch (...) {  // the program has got it already
        }
      });
      throw;
    }
  });
}

// A collective call may wait for the other tasks when it begins (MPI 3.1, section 13.4.5): all is done here.
int begin_all(const Call& call, MPI_File handle, const Buffer& buffer, std::string_view family) {
  return on_file(call.name, handle, [&](OpenFile& file) {
    if (file.split) throw MpiError(MPI_ERR_OTHER, "a split collective call is not ended yet");
    file.split = SplitCall{family, carry_out(file, call, buffer)};
  });
}

int end_all(const char* name, MPI_File handle, MPI_Status* status, std::string_view family) {
  return on_file(name, handle, [&](OpenFile& file) {
    if (!file.split || file.split->family != family)
      throw MpiError(MPI_ERR_OTHER, "no split collective call of this kind has begun");
    set_status(status, file.split->bytes);
    file.split.reset();
  });
}

}  // namespace sheaf::mpiio
