// api/mpiio/errhandlers: the error handler of a file.
//
// The handlers of MPI itself are played here. One that the program made in C is a function we have seen in
// MPI_File_create_errhandler and call with our handle. A handler that came another way (Open MPI's Fortran
// makes them without passing through C) can only be called by the MPI library on a file of its own: its
// shadow, a file of the library on no data, which also keeps handlers alive that the program has freed. One
// per Errhandling at most, and none before a handler of the program is set.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>

#include "base/non_copyable.hpp"

namespace sheaf::mpiio {

class Errhandling : private NonCopyable {
 public:
  ~Errhandling();

  // All local. Return MPI_SUCCESS or an error class. `file`: whose handler it is, or MPI_FILE_NULL.
  int set(MPI_Errhandler handler, MPI_File file);
  // A handle that the caller frees.
  int get(MPI_Errhandler* handler) const;

  // Does what the handler is for. `handle`: what the handler gets. `what`: for the message of a fatal error.
  // Returns the code that the handler leaves behind, which the failing call returns; handlers made in Fortran
  // get a copy.
  int call(MPI_File handle, int code, const char* what) const;

  // Takes the handler of `other` for `file`.
  void inherit(const Errhandling& other, MPI_File file);

 private:
  int hold(MPI_Errhandler handler, MPI_File file);

  MPI_Errhandler own_ = MPI_ERRORS_RETURN;  // one of MPI itself; null: the program's, which the shadow has
  MPI_File_errhandler_function* function_ = nullptr;  // the program's, if it was made in C
  MPI_File shadow_ = MPI_FILE_NULL;
};

// That of MPI_FILE_NULL: what opened files begin with and what failing opens call. Lives until exit.
Errhandling& default_errhandling();

}  // namespace sheaf::mpiio
