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
  MpiError(int mpi_class, std::string what)
      : Error(Code::invalid_argument, std::move(what)), class_(mpi_class) {}
  int mpi_class() const { return class_; }

 private:
  int class_;
};

// The class of what is being thrown (call inside a catch block), and its message to this thread's memory.
int class_of_current(const char* function);
int class_of(const Error& error);

// Message of the last error on this thread; "" if there was none.
const char* last_message();

// Prints what the call has left in base/warnings.
void print_warnings(const char* function);
inline void say_warnings(const char* function) {
  if (any_warnings()) print_warnings(function);
}

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

// Runs the body of a call on `handle`, body(OpenFile&).
template <class Body>
int on_file(const char* function, MPI_File handle, Body&& body) {
  FilePointer file;
  int result = MPI_SUCCESS;
  try {
    file = find_file(handle);
    if (!file) throw MpiError(MPI_ERR_FILE, "no open file has this handle");
    body(*file);
    say_warnings(function);
    return MPI_SUCCESS;
  } catch (...) {
    result = class_of_current(function);
  }
  const Errhandling& errors = file ? file->errors : default_errhandling();
  return errors.call(file ? handle : MPI_FILE_NULL, result, last_message());
}

// The same for a call without a file; the handler is that of MPI_FILE_NULL.
template <class Body>
int without_file(const char* function, Body&& body) {
  try {
    body();
    say_warnings(function);
    return MPI_SUCCESS;
  } catch (...) {
    const int result = class_of_current(function);
    return default_errhandling().call(MPI_FILE_NULL, result, last_message());
  }
}

}  // namespace sheaf::mpiio
