// mpiio/api/handles: the table of open files by their C and Fortran handles.
//
// A C handle is the address of an MpiFile. Calls look a handle up in the table and never dereference it, so
// invalid handles are detected. Fortran numbers start at first_fortran_handle, so that they do not collide
// with the numbers that the MPI library gives to shadows (errhandlers.hpp). The handle of a shadow denotes
// the file for which the shadow was opened.
#pragma once

#include <mpi.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/non_copyable.hpp"
#include "mpiio/api/datatype/datarep.hpp"
#include "mpiio/api/errhandlers.hpp"
#include "mpiio/api/requests/worker.hpp"
#include "mpiio/file/sequence.hpp"
#include "mpiio/file/shared_file.hpp"

namespace sheaf::mpiio {

// Holds a predefined datatype, or a duplicate of another datatype of the program. The duplicate is freed with
// the last copy of this object.
class KeptType {
 public:
  KeptType() = default;
  explicit KeptType(MPI_Datatype type);

  MPI_Datatype get() const { return type_; }
  // Returns a handle that the caller may free, or a predefined type.
  MPI_Datatype for_caller() const;

 private:
  MPI_Datatype type_ = MPI_BYTE;
  std::shared_ptr<MPI_Datatype> own_;  // frees type_; null if predefined
};

// Arguments of MPI_File_set_view.
struct ProgramView {
  KeptType etype;
  KeptType filetype;
  std::string datarep_name = "native";
  std::shared_ptr<const Datarep> datarep;  // null: native
  bool empty = false;                      // the file type has no data; every transfer is empty
};

// State of a split collective call between begin and end: the name of its family ("read_all", ...) and the
// bytes transferred.
struct SplitCall {
  std::string_view family;
  int64_t bytes = 0;
};

struct MpiFile : private NonCopyable {
  ~MpiFile();

  MPI_File handle() { return reinterpret_cast<MPI_File>(this); }

  int64_t etype_size() const { return file->view()->etype_size; }
  bool is_sequential() const { return (amode & MPI_MODE_SEQUENTIAL) != 0; }

  std::shared_ptr<Store> store;  // file store, used until the file is destroyed
  std::unique_ptr<SharedFile> file;
  // Sequence for nonblocking collectives; null unless library threads may call MPI on all tasks.
  std::unique_ptr<Sequence> later;
  // Thread that runs nonblocking collectives; created on first use. Destroyed before the sequence and the
  // file.
  std::unique_ptr<Worker> worker;
  MPI_Group group = MPI_GROUP_NULL;
  int amode = 0;
  Errhandling errors;
  ProgramView view;
  std::optional<SplitCall> split;
  int number = 0;  // Fortran handle; 0: not assigned yet. Guarded by the lock of the table
};

using FilePointer = std::shared_ptr<MpiFile>;

// Adds a file to the table and returns its handle. All calls on the table are local and thread-safe.
MPI_File register_file(FilePointer file);
// Returns the file of `handle`, or null if no open file has this handle, as for MPI_FILE_NULL.
FilePointer find_file(MPI_File handle);
// Removes the handle. The file is destroyed when its last user releases it.
void unregister_file(MPI_File handle);
// register_shadow makes the handle of a shadow denote `file`; forget_shadow removes this entry.
void register_shadow(MPI_File shadow, MPI_File file);
void forget_shadow(MPI_File shadow);

}  // namespace sheaf::mpiio
