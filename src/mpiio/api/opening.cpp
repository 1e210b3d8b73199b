// Opens, closes and deletes files.
#include <strings.h>

#include <cstring>

#include "comm/mpi/mpi_comm.hpp"
#include "comm/reduce.hpp"
#include "mpiio/api/entry.hpp"
#include "mpiio/api/errors.hpp"
#include "mpiio/api/info.hpp"
#include "mpiio/api/named_stores.hpp"
#include "mpiio/api/requests/requests.hpp"
#include "mpiio/file/hints_file.hpp"
#include "mpiio/file/sequence.hpp"
#include "storage/store.hpp"

namespace sheaf::mpiio {
namespace {

// Returns the path in `name` without the prefix for a file system type that other implementations accept
// ("ufs:/data/x").
std::string path_of(const char* name) {
  if (!name || !*name) throw MpiError(MPI_ERR_BAD_FILE, "the file has no name");
  for (const char* const kind : {"ufs:", "nfs:", "xfs:", "testfs:", "lustre:", "gpfs:", "panfs:", "pvfs2:"})
    if (strncasecmp(name, kind, std::strlen(kind)) == 0) return name + std::strlen(kind);
  return name;
}

SharedMode mode_of(int amode) {
  const auto has = [&](int word) { return (amode & word) != 0; };
  if (has(MPI_MODE_RDONLY) + has(MPI_MODE_WRONLY) + has(MPI_MODE_RDWR) != 1)
    throw MpiError(MPI_ERR_AMODE,
                   "a file is opened with one of MPI_MODE_RDONLY, MPI_MODE_WRONLY and MPI_MODE_RDWR");
  if (has(MPI_MODE_RDONLY) && (has(MPI_MODE_CREATE) || has(MPI_MODE_EXCL)))
    throw MpiError(MPI_ERR_AMODE, "MPI_MODE_CREATE and MPI_MODE_EXCL do not go with MPI_MODE_RDONLY");
  if (has(MPI_MODE_RDWR) && has(MPI_MODE_SEQUENTIAL))
    throw MpiError(MPI_ERR_AMODE, "MPI_MODE_SEQUENTIAL does not go with MPI_MODE_RDWR");
  return {.read = !has(MPI_MODE_WRONLY),
          .write = !has(MPI_MODE_RDONLY),
          .create = has(MPI_MODE_CREATE),
          .exclusive = has(MPI_MODE_EXCL),
          .delete_on_close = has(MPI_MODE_DELETE_ON_CLOSE),
          .append = has(MPI_MODE_APPEND)};
}

struct OpenArguments {
  int mpi_class = MPI_SUCCESS;  // error class of this task's arguments; MPI_SUCCESS if they are valid
  MinMax amode;
  bool lacks_threads = false;  // library threads may not call MPI
  constexpr void combine(auto& by) { by.max(mpi_class).range(amode).any(lacks_threads); }
};

// Collective. Throws on all tasks if the arguments of one task are invalid or the modes differ. Otherwise
// returns true if library threads may call MPI on all tasks.
bool agree_on_opening(Comm& comm, const std::optional<MpiError>& problem, int amode) {
  OpenArguments all{problem ? problem->mpi_class : MPI_SUCCESS, MinMax(amode), !threads_may_call_mpi()};
  reduce(comm, all);
  if (problem) throw *problem;
  if (all.mpi_class != MPI_SUCCESS)
    throw MpiError(all.mpi_class, "another task cannot open the file with its arguments");
  if (!all.amode.is_same()) throw MpiError(MPI_ERR_NOT_SAME, "tasks open a file with different modes");
  return !all.lacks_threads;
}

FilePointer open_file(MPI_Comm program_comm, const char* name, int amode, MPI_Info info) {
  int inter = 1;
  if (program_comm == MPI_COMM_NULL || PMPI_Comm_test_inter(program_comm, &inter) != MPI_SUCCESS || inter)
    throw MpiError(MPI_ERR_COMM, "files are opened by an intracommunicator");
  std::string path;
  SharedMode mode;
  std::optional<MpiError> problem;
  try {
    path = path_of(name);
    mode = mode_of(amode);
  } catch (const MpiError& e) {
    problem = e;
  }
  std::unique_ptr<Comm> comm = mpi_comm(program_comm);
  const bool threads = agree_on_opening(*comm, problem, amode);
  named_stores().prepare(path, program_comm);
  Hints hints;
  if (comm->rank() == 0) take_hints_file(posix_store(), hints);  // task 0 broadcasts its hints
  take_hints(info, hints, comm->rank() == 0);
  auto result = std::make_shared<MpiFile>();
  result->store = named_stores().here();
  result->file = SharedFile::open(std::move(comm), *result->store, path, mode, hints);
  if (threads) result->later = result->file->make_sequence();
  result->amode = amode;
  PMPI_Comm_group(program_comm, &result->group);
  result->errors.inherit(default_errhandling(), result->handle());
  return result;
}

}  // namespace
}  // namespace sheaf::mpiio

using namespace sheaf::mpiio;

extern "C" {

int PMPI_File_open(MPI_Comm comm, const char* name, int amode, MPI_Info info, MPI_File* file) {
  return without_file("MPI_File_open", [&] {
    *file = MPI_FILE_NULL;
    *file = collective_call(sheaf::mpi_job_end(comm), "MPI_File_open",
                            [&] { return register_file(open_file(comm, name, amode, info)); });
  });
}

int PMPI_File_close(MPI_File* handle) {
  return on_file_together("MPI_File_close", *handle, [&](MpiFile& file) {
    if (file.worker) file.worker->drain();
    unregister_file(*handle);
    *handle = MPI_FILE_NULL;
    file.worker.reset();
    file.later.reset();
    file.file->close();
  });
}

int PMPI_File_delete(const char* name, MPI_Info) {
  return without_file("MPI_File_delete", [&] {
    const std::string path = path_of(name);
    named_stores().prepare(path, MPI_COMM_NULL);
    named_stores().current().remove(path);
  });
}

}  // extern "C"
