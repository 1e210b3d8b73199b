#include "mpiio/api/access.hpp"

#include <exception>
#include <memory>

#include "base/checked.hpp"
#include "comm/agree.hpp"
#include "mpiio/api/errors.hpp"
#include "mpiio/api/requests/requests.hpp"

namespace sheaf::mpiio {
namespace {

// Size in bytes from which a nonblocking call is enqueued for a thread. Smaller transfers run at once,
// because enqueuing costs more than the transfer.
constexpr int64_t worth_a_thread = 1 << 20;

// Returns the position of the transfer in the view's stream; advances the file pointer if the call uses one.
int64_t claim(MpiFile& file, const AccessCall& call, int64_t bytes) {
  if (call.pointer != PointerKind::shared && file.is_sequential())
    throw MpiError(MPI_ERR_UNSUPPORTED_OPERATION,
                   "files opened with MPI_MODE_SEQUENTIAL are accessed by the shared pointer");
  if (call.pointer == PointerKind::individual) return file.file->claim_individual(bytes);
  if (call.pointer == PointerKind::shared) return file.file->claim_shared(bytes);
  if (call.offset < 0) throw MpiError(MPI_ERR_ARG, "an offset is negative");
  return must_fit(checked_mul(call.offset, file.etype_size()), "an offset");
}

std::shared_ptr<FileTransfer> prepare(MpiFile& file, const AccessCall& call, const Buffer& buffer,
                                      bool later) {
  auto transfer = std::make_shared<FileTransfer>(file, call.way, buffer, later);
  transfer->place(claim(file, call, transfer->bytes()));
  return transfer;
}

// Makes all tasks fail with the error of this task, and rethrows it. Collective.
[[noreturn]] void fail_all(MpiFile& file, Sequence& sequence, const std::exception_ptr& problem) {
  const auto told = attempt([&] { std::rethrow_exception(problem); });
  attempt([&] { file.file->fail_all(sequence, *told); });
  std::rethrow_exception(problem);
}

// Runs a collective call. Collective. The tasks compute ordered positions together, so a task with an error
// takes part in that computation with 0 bytes before the call fails on all tasks.
int64_t carry_out(MpiFile& file, const AccessCall& call, const Buffer& buffer) {
  Sequence& sequence = file.file->sequence();
  const bool ordered = call.pointer == PointerKind::shared;
  std::optional<FileTransfer> transfer;
  std::exception_ptr problem;
  try {
    transfer.emplace(file, call.way, buffer);
    if (!ordered) transfer->place(claim(file, call, transfer->bytes()));
  } catch (...) {
    problem = problem_to_agree_on();
  }
  if (ordered) {
    const int64_t place = file.file->claim_ordered(sequence, problem ? 0 : transfer->bytes());
    if (!problem) transfer->place(place);
  }
  if (problem) fail_all(file, sequence, problem);
  return transfer->together(sequence);
}

// Starts a noncollective transfer. Large transfers run on a thread if library threads may call MPI, other
// transfers run before the call returns.
void start_alone(MpiFile& file, const AccessCall& call, MPI_File handle, const Buffer& buffer,
                 MPI_Request* request) {
  *request = MPI_REQUEST_NULL;
  const bool threads = file.later != nullptr;
  const auto transfer = prepare(file, call, buffer, threads);
  Worker* const worker = threads && transfer->bytes() >= worth_a_thread ? &independent_worker() : nullptr;
  const FilePointer kept = find_file(handle);
  *request = start_request(call.name, kept, worker, [transfer, kept] { return transfer->alone(); });
}

// Starts a collective transfer on the worker of the file.
void start_together(MpiFile& file, const AccessCall& call, MPI_File handle, const Buffer& buffer,
                    MPI_Request* request) {
  *request = MPI_REQUEST_NULL;
  try {
    if (!file.worker) file.worker = std::make_unique<Worker>();
  } catch (...) {  // no thread can be created; fails the call on all tasks
    fail_all(file, *file.later, problem_to_agree_on());
  }
  try {
    const auto transfer = prepare(file, call, buffer, true);
    *request =
        start_request(call.name, find_file(handle), file.worker.get(), [&file, transfer, name = call.name] {
          return collective_call(file.later->comm().job_end(), name,
                                 [&] { return transfer->together(*file.later); });
        });
  } catch (...) {
    const std::exception_ptr problem = problem_to_agree_on();
    file.worker->add([&file, problem] {
      try {
        fail_all(file, *file.later, problem);
      } catch (...) {  // the program has already received this error
      }
    });
    std::rethrow_exception(problem);
  }
}

// Runs body(), which begins or carries out `call`. If a write runs out of memory before the file has recorded
// its bytes as missing, the file records that it is incomplete.
template <class Body>
void with_record(MpiFile& file, const AccessCall& call, Body&& body) {
  const auto lost = [&] {
    if (call.way == TransferDirection::write) file.file->note_lost_write();
  };
  try {
    body();
  } catch (const std::bad_alloc&) {
    lost();
    throw;
  } catch (const MpiError& e) {
    if (e.mpi_class == MPI_ERR_NO_MEM) lost();
    throw;
  }
}

}  // namespace

int access_one(const AccessCall& call, MPI_File handle, const Buffer& buffer, MPI_Status* status) {
  return on_file(call.name, handle, [&](MpiFile& file) {
    with_record(file, call, [&] {
      FileTransfer transfer(file, call.way, buffer);
      transfer.place(claim(file, call, transfer.bytes()));
      set_status(status, transfer.alone());
    });
  });
}

int start_one(const AccessCall& call, MPI_File handle, const Buffer& buffer, MPI_Request* request) {
  return on_file(call.name, handle, [&](MpiFile& file) {
    with_record(file, call, [&] { start_alone(file, call, handle, buffer, request); });
  });
}

int access_all(const AccessCall& call, MPI_File handle, const Buffer& buffer, MPI_Status* status) {
  return on_file_together(call.name, handle, [&](MpiFile& file) {
    with_record(file, call, [&] { set_status(status, carry_out(file, call, buffer)); });
  });
}

// Starts a collective transfer on the worker of the file. If library threads must not call MPI, each task
// transfers independently instead, because a nonblocking call must not wait for other tasks.
int start_all(const AccessCall& call, MPI_File handle, const Buffer& buffer, MPI_Request* request) {
  const FilePointer found = find_file(handle);
  if (found && !found->later) return start_one(call, handle, buffer, request);
  return on_file_together(call.name, handle, [&](MpiFile& file) {
    with_record(file, call, [&] { start_together(file, call, handle, buffer, request); });
  });
}

// Performs the whole transfer in the begin call, which may wait for other tasks (MPI 3.1, section 13.4.5).
int begin_all(const AccessCall& call, MPI_File handle, const Buffer& buffer, std::string_view family) {
  return on_file_together(call.name, handle, [&](MpiFile& file) {
    if (file.split) throw MpiError(MPI_ERR_OTHER, "a split collective call is not ended yet");
    with_record(file, call, [&] { file.split = SplitCall{family, carry_out(file, call, buffer)}; });
  });
}

int end_all(const char* name, MPI_File handle, MPI_Status* status, std::string_view family) {
  return on_file(name, handle, [&](MpiFile& file) {
    if (!file.split || file.split->family != family)
      throw MpiError(MPI_ERR_OTHER, "no split collective call of this kind has begun");
    set_status(status, file.split->bytes);
    file.split.reset();
  });
}

}  // namespace sheaf::mpiio
