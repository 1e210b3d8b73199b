// mpiio/api/errors: error reporting at the MPI-IO interface. A failing call first calls the error handler of
// the file and then returns an error class of the standard (MPI 3.1, section 13.7). The message is stored per
// thread. MPI_Error_string returns it for the last code returned; SHEAF_MPIIO_ERRORS=1 prints it. No
// exception leaves the library.
#pragma once

#include <mpi.h>

#include <exception>
#include <string>

#include "base/error.hpp"
#include "base/report/guard.hpp"
#include "base/warnings.hpp"
#include "comm/collective_call.hpp"
#include "mpiio/api/handles.hpp"

namespace sheaf::mpiio {

// An error with a class of the standard.
class MpiError : public Error {
 public:
  MpiError(int of_mpi, const std::string& what) : Error(Code::invalid_argument, what), mpi_class(of_mpi) {}

  int mpi_class;
};

// Returns the error class of an exception of the call of `function`, and stores its message for this thread.
int record_error(const char* function, const std::exception& error);

// Returns the message of the last error of this thread, or "" if there was none.
const char* last_message();
// Stores `text` as the last message, for a call that returns `mpi_class`.
void remember_message(const std::string& text, int mpi_class);

// Prints the warnings that the call of `function` has left in base/warnings.
void print_warnings(const char* function);

// Returns the current exception for a task that takes part in a collective call before it throws: bad_alloc
// becomes an MpiError, because the tasks agree on it. Must be called inside a catch block.
std::exception_ptr problem_to_agree_on();

// Runs local(), then the collective call together(). together() runs even if local() throws, so that the
// other tasks do not block. If both throw, rethrows the error of local().
template <class Local, class Together>
void in_step(Local&& local, Together&& together) {
  std::exception_ptr problem;
  try {
    local();
  } catch (...) {
    problem = problem_to_agree_on();
  }
  try {
    together();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (...) {
    if (problem) std::rethrow_exception(problem);
    throw;
  }
}

// Runs the body of a call and returns the result of the call. If the body throws, calls the error handler of
// `file` with the program's `handle`, or the handler of MPI_FILE_NULL if `file` is null.
template <class Body>
int call_for(const char* function, const MpiFile* file, MPI_File handle, Body&& body) {
  const auto run = [&] {
    body();
    if (any_warnings()) print_warnings(function);
  };
  const int result = run_guarded(MPI_SUCCESS, run,
                                 [&](const std::exception& error) { return record_error(function, error); });
  if (result == MPI_SUCCESS) return result;
  const Errhandling& errors = file ? file->errors : default_errhandling();
  return errors.call(file ? handle : MPI_FILE_NULL, result, last_message());
}

// Runs body(MpiFile&) for the file of `handle` as call_for() does.
template <class Body>
int on_file(const char* function, MPI_File handle, Body&& body) {
  const FilePointer file = find_file(handle);
  return call_for(function, file.get(), handle, [&] {
    if (!file) throw MpiError(MPI_ERR_FILE, "no open file has this handle");
    body(*file);
  });
}

// Runs the body of a collective call on a file. If it runs out of memory and the tasks cannot agree on that,
// ends the job (comm/collective_call).
template <class Body>
int on_file_together(const char* function, MPI_File handle, Body&& body) {
  return on_file(function, handle, [&](MpiFile& file) {
    collective_call(file.file->sequence().comm().job_end(), function, [&] { body(file); });
  });
}

template <class Body>
int without_file(const char* function, Body&& body) {
  return call_for(function, nullptr, MPI_FILE_NULL, body);
}

}  // namespace sheaf::mpiio
