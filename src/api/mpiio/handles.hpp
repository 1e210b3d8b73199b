// api/mpiio/handles: the files that are open, by the handles that C and Fortran have for them.
//
// A handle in C is the address of the OpenFile, looked up and never trusted. Fortran's numbers are ours from
// first_fortran_handle on, so that they do not meet those that the MPI library gives to shadows
// (errhandlers.hpp); the handle of a shadow stands for the file that it belongs to.
#pragma once

#include <mpi.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/mpiio/errhandlers.hpp"
#include "api/mpiio/requests/worker.hpp"
#include "api/mpiio/types/datarep.hpp"
#include "base/non_copyable.hpp"
#include "sharedfile/sequence.hpp"
#include "sharedfile/shared_file.hpp"

namespace sheaf::mpiio {

// A datatype of the program, kept as long as this or a copy lives: a duplicate unless it is one of MPI's own.
class KeptType {
 public:
  KeptType() = default;
  explicit KeptType(MPI_Datatype type);

  MPI_Datatype get() const { return type_; }
  // A handle that the caller may free, or a type of MPI itself.
  MPI_Datatype for_caller() const;

 private:
  MPI_Datatype type_ = MPI_BYTE;
  std::shared_ptr<MPI_Datatype> own_;  // the same, and frees it; null: one of MPI itself
};

// What the program has said in MPI_File_set_view.
struct ProgramView {
  KeptType etype;
  KeptType filetype;
  std::string datarep_name = "native";
  std::shared_ptr<const Datarep> datarep;  // null: native
  bool empty = false;                      // the file type has no data: nothing can be transferred
};

// A split collective call between begin and end: the name of its family ("read_all", ...) and what it has
// transferred.
struct SplitCall {
  std::string_view family;
  int64_t bytes = 0;
};

struct OpenFile : private NonCopyable {
  ~OpenFile();

  MPI_File handle() { return reinterpret_cast<MPI_File>(this); }

  int64_t etype_size() const { return file->view()->etype_size; }
  bool is_sequential() const { return (amode & MPI_MODE_SEQUENTIAL) != 0; }

  std::shared_ptr<Store> store;  // of the file, until it goes
  std::unique_ptr<SharedFile> file;
  // For nonblocking collectives; null if the program's MPI has no threads for them.
  std::unique_ptr<Sequence> later;
  // Carries them out; made at the first. Destroyed before the sequence and the file.
  std::unique_ptr<Worker> worker;
  MPI_Group group = MPI_GROUP_NULL;
  int amode = 0;
  Errhandling errors;
  ProgramView view;
  std::optional<SplitCall> split;
  int number = 0;  // that Fortran has for it; 0: none yet. Guarded by the table of files
};

using FilePointer = std::shared_ptr<OpenFile>;

// All local, for any thread.
MPI_File register_file(FilePointer file);
// Null if there is no such file, MPI_FILE_NULL included.
FilePointer find_file(MPI_File handle);
// Forgets the handle; the file lives as long as somebody uses it.
void unregister_file(MPI_File handle);
// The handle of the MPI library's file stands for `file` from now on / no longer.
void register_shadow(MPI_File shadow, MPI_File file);
void forget_shadow(MPI_File shadow);

}  // namespace sheaf::mpiio
