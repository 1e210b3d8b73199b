// mpiio/api/errhandlers: the error handler of a file.
//
// Predefined handlers are implemented here. A handler that the program created in C is a function recorded in
// MPI_File_create_errhandler, which is called with the handle of this library. Other handlers can be called
// only by the MPI library, on a file of its own; Open MPI's Fortran interface creates handlers without
// passing through C. For these, an Errhandling opens a shadow: a file of the MPI library without data. The
// shadow also keeps handlers alive after the program frees them. An Errhandling has at most one shadow, and
// none before the program sets a handler.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>

#include "base/non_copyable.hpp"

namespace sheaf::mpiio {

class Errhandling : private NonCopyable {
 public:
  ~Errhandling();

  // All methods are local. They return MPI_SUCCESS or an error class. `file`: the file with this handler, or
  // MPI_FILE_NULL.
  int set(MPI_Errhandler handler, MPI_File file);
  // Returns a handle that the caller frees.
  int get(MPI_Errhandler* handler) const;

  // Calls the handler with `handle`. `what` is the text for the message of a fatal error. Returns the code
  // left by the handler, which the failing call returns; handlers created in Fortran receive a copy of the
  // code.
  int call(MPI_File handle, int code, const char* what) const;

  // Copies the handler of `other` to `file`.
  void inherit(const Errhandling& other, MPI_File file);

 private:
  int hold(MPI_Errhandler handler, MPI_File file);

  MPI_Errhandler own_ = MPI_ERRORS_RETURN;  // predefined handler; null: the program's, set on the shadow
  MPI_File_errhandler_function* function_ = nullptr;  // the program's handler if created in C
  MPI_File shadow_ = MPI_FILE_NULL;
};

// Returns the handler of MPI_FILE_NULL. Opened files inherit it, and failing opens call it. Lives until exit.
Errhandling& default_errhandling();

}  // namespace sheaf::mpiio
