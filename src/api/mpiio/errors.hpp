// api/mpiio/errors: how an error leaves the library through the MPI-IO interface: as the error class that the
// standard names (MPI 3.1, section 13.7), after the error handler of the file has been called. The class is
// the returned code. The message is kept per thread, told by MPI_Error_string for the code that was returned
// last, and printed if the environment has SHEAF_MPIIO_ERRORS=1. Nothing is thrown across the border.
#pragma once

#include <mpi.h>

#include <exception>
#include <string>

#include "api/mpiio/handles.hpp"
#include "base/error.hpp"
#include "base/warnings.hpp"

namespace sheaf::mpiio {

// An error whose class the standard names.
class MpiError : public Error {
 public:
  MpiError(int of_mpi, const std::string& what) : Error(Code::invalid_argument, what), mpi_class(of_mpi) {}

  int mpi_class;
};

// The class of what is being thrown (call inside a catch block), and its message to this thread's memory.
int class_of_current(const char* function);

// Message of the last error on this thread; "" if there was none.
const char* last_message();
// Makes `text` that message, of a call that returns `mpi_class`.
void remember_message(const std::string& text, int mpi_class);

// Prints what the call has left in base/warnings.
void print_warnings(const char* function);

// Runs local(), and then together(), a collective call: also where local() has failed, so that no task waits
// for this one. The error of local() counts where both fail.
template <class Local, class Together>
void in_step(Local&& local, Together&& together) {
  std::exception_ptr problem;
  try {
    local();
  } catch (...) {
    problem = std::current_exception();
  }
  try {
    together();
  } catch (...) {
    if (problem) std::rethrow_exception(problem);
    throw;
  }
}

// Runs the body of a call; what it throws is told to the handler of `file`, for which the program has
// `handle`, or, if that is null, to the handler of MPI_FILE_NULL.
template <class Body>
int call_for(const char* function, const OpenFile* file, MPI_File handle, Body&& body) {
  int result = MPI_SUCCESS;
  try {
    body();
    if (any_warnings()) print_warnings(function);
    return MPI_SUCCESS;
  } catch (...) {
    result = class_of_current(function);
  }
  const Errhandling& errors = file ? file->errors : default_errhandling();
  return errors.call(file ? handle : MPI_FILE_NULL, result, last_message());
}

// body(OpenFile&), on `handle`.
template <class Body>
int on_file(const char* function, MPI_File handle, Body&& body) {
  const FilePointer file = find_file(handle);
  return call_for(function, file.get(), handle, [&] {
    if (!file) throw MpiError(MPI_ERR_FILE, "no open file has this handle");
    body(*file);
  });
}

template <class Body>
int without_file(const char* function, Body&& body) {
  return call_for(function, nullptr, MPI_FILE_NULL, body);
}

}  // namespace sheaf::mpiio
