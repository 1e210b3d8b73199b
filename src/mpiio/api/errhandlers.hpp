// mpiio/api/errhandlers: the error handler of a file.
//
// Predefined handlers are implemented by this module. A handler that the program created in C is a function
// that MPI_File_create_errhandler has recorded; the module calls the function with the handle of this
// library. Only the MPI library can call other handlers, for example those of Open MPI's Fortran interface,
// and only for a file of its own. For them an Errhandling opens a shadow: a file of the MPI library without
// data. The shadow also keeps handlers alive after the program frees them. An Errhandling has at most one
// shadow, and none before the program sets a handler.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>

#include "base/non_copyable.hpp"

namespace sheaf::mpiio {

class Errhandling : private NonCopyable {
 public:
  ~Errhandling();

  // All methods are local. set() and get() return MPI_SUCCESS or an error class.

  // Sets the handler of `file`, or of files opened later if `file` is MPI_FILE_NULL.
  int set(MPI_Errhandler handler, MPI_File file);
  // Stores a handle that the caller frees.
  int get(MPI_Errhandler* handler) const;

  // Calls the handler with `handle`. `what` is the text for the message of a fatal error. Returns the code
  // that the failing call must return. A handler created in C may change the code; handlers created in
  // Fortran receive a copy.
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
