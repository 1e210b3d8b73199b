// Size, mode, group, info and atomicity of a file.
#include "mpiio/api/entry.hpp"
#include "mpiio/api/errors.hpp"
#include "mpiio/api/info.hpp"

using namespace sheaf::mpiio;

namespace {

// Throws if the file is open for reading only. All tasks have opened the file with the same mode, so all of
// them throw. The tasks agree on invalid sizes separately.
void require_writable(const MpiFile& file) {
  if ((file.amode & MPI_MODE_RDONLY) != 0)
    throw MpiError(MPI_ERR_READ_ONLY, "the file is open for reading only");
}

// Completes the nonblocking calls that the program has begun, so that they run with the previous settings.
// All tasks call it.
void finish_begun(MpiFile& file) {
  if (file.worker) file.worker->drain();
  drain_independent_worker();
}

}  // namespace

extern "C" {

int PMPI_File_set_size(MPI_File handle, MPI_Offset size) {
  return on_file_together("MPI_File_set_size", handle, [&](MpiFile& file) {
    require_writable(file);
    file.file->resize(size);
  });
}

int PMPI_File_preallocate(MPI_File handle, MPI_Offset size) {
  return on_file_together("MPI_File_preallocate", handle, [&](MpiFile& file) {
    require_writable(file);
    file.file->preallocate(size);
  });
}

int PMPI_File_get_size(MPI_File handle, MPI_Offset* size) {
  return on_file("MPI_File_get_size", handle, [&](MpiFile& file) { *size = file.file->bytes(); });
}

int PMPI_File_get_group(MPI_File handle, MPI_Group* group) {
  return on_file("MPI_File_get_group", handle,
                 [&](MpiFile& file) { PMPI_Group_union(file.group, MPI_GROUP_EMPTY, group); });
}

int PMPI_File_get_amode(MPI_File handle, int* amode) {
  return on_file("MPI_File_get_amode", handle, [&](MpiFile& file) { *amode = file.amode; });
}

int PMPI_File_set_info(MPI_File handle, MPI_Info info) {
  return on_file_together("MPI_File_set_info", handle, [&](MpiFile& file) {
    finish_begun(file);
    Hints hints = file.file->hints();
    take_hints(info, hints, file.file->rank() == 0);
    file.file->set_hints(hints);
  });
}

int PMPI_File_get_info(MPI_File handle, MPI_Info* info) {
  return on_file("MPI_File_get_info", handle,
                 [&](MpiFile& file) { *info = info_of(file.file->hints_in_use()); });
}

int PMPI_File_set_atomicity(MPI_File handle, int flag) {
  return on_file_together("MPI_File_set_atomicity", handle, [&](MpiFile& file) {
    finish_begun(file);
    file.file->set_atomic(flag != 0);
  });
}

int PMPI_File_get_atomicity(MPI_File handle, int* flag) {
  return on_file("MPI_File_get_atomicity", handle, [&](MpiFile& file) { *flag = file.file->atomic(); });
}

int PMPI_File_sync(MPI_File handle) {
  return on_file_together("MPI_File_sync", handle, [&](MpiFile& file) { file.file->sync(); });
}

}  // extern "C"
