// Individual and shared file pointers.
#include "base/checked.hpp"
#include "mpiio/api/entry.hpp"
#include "mpiio/api/errors.hpp"

namespace sheaf::mpiio {
namespace {

void refuse_sequential(const MpiFile& file) {
  if (file.is_sequential())
    throw MpiError(MPI_ERR_UNSUPPORTED_OPERATION,
                   "files opened with MPI_MODE_SEQUENTIAL have no such pointer");
}

// Returns the target of a seek in bytes of the view's stream. `current` is the current position.
int64_t target_of(MpiFile& file, MPI_Offset offset, int whence, int64_t current) {
  const auto view = file.file->view();
  const int64_t etype = view->etype_size;
  int64_t from = 0;
  if (whence == MPI_SEEK_CUR) {
    from = current / etype;
  } else if (whence == MPI_SEEK_END) {
    from = (file.file->end_of_stream(*view) + etype - 1) / etype;
  } else if (whence != MPI_SEEK_SET) {
    throw MpiError(MPI_ERR_ARG, "whence is none of MPI_SEEK_SET, MPI_SEEK_CUR and MPI_SEEK_END");
  }
  const auto target = checked_add(from, offset);
  const auto bytes = target ? checked_mul(*target, etype) : std::nullopt;
  if (!bytes || *bytes < 0)
    throw MpiError(MPI_ERR_ARG, "a file pointer would lie before the view or beyond all files");
  return *bytes;
}

}  // namespace
}  // namespace sheaf::mpiio

using namespace sheaf::mpiio;

extern "C" {

int PMPI_File_seek(MPI_File handle, MPI_Offset offset, int whence) {
  return on_file("MPI_File_seek", handle, [&](MpiFile& file) {
    refuse_sequential(file);
    file.file->seek_individual(target_of(file, offset, whence, file.file->claim_individual(0)));
  });
}

int PMPI_File_get_position(MPI_File handle, MPI_Offset* offset) {
  return on_file("MPI_File_get_position", handle, [&](MpiFile& file) {
    refuse_sequential(file);
    *offset = file.file->claim_individual(0) / file.etype_size();
  });
}

int PMPI_File_seek_shared(MPI_File handle, MPI_Offset offset, int whence) {
  return on_file_together("MPI_File_seek_shared", handle, [&](MpiFile& file) {
    refuse_sequential(file);
    const int64_t now = file.file->shared_position();
    int64_t target = -1;  // rejected on all tasks if one task has no valid target
    in_step([&] { target = target_of(file, offset, whence, now); }, [&] { file.file->seek_shared(target); });
  });
}

int PMPI_File_get_position_shared(MPI_File handle, MPI_Offset* offset) {
  return on_file("MPI_File_get_position_shared", handle,
                 [&](MpiFile& file) { *offset = file.file->claim_shared(0) / file.etype_size(); });
}

}  // extern "C"
