// Views and the queries that depend on them: byte offsets and extents in the file.
#include <utility>

#include "base/checked.hpp"
#include "mpiio/api/datatype/datatypes.hpp"
#include "mpiio/api/entry.hpp"
#include "mpiio/api/errors.hpp"

namespace sheaf::mpiio {
namespace {

layout::TypeMap map_in_file(MPI_Datatype type, const Datarep* datarep) {
  return datarep ? datarep->in_file(type) : type_map(type);
}

// Returns the displacement of the new view. `current` is the position of a file that is accessed
// sequentially.
MPI_Offset displacement_in(MpiFile& file, MPI_Offset given, int64_t current) {
  const bool sequential = file.is_sequential();
  if (sequential != (given == MPI_DISPLACEMENT_CURRENT))
    throw MpiError(MPI_ERR_ARG, sequential
                                    ? "with MPI_MODE_SEQUENTIAL the displacement is MPI_DISPLACEMENT_CURRENT"
                                    : "MPI_DISPLACEMENT_CURRENT needs MPI_MODE_SEQUENTIAL");
  return sequential ? file.file->view()->offset_of(current) : given;
}

// Returns the view, and the arguments of the program that define it.
std::pair<View, ProgramView> make_view(MpiFile& file, MPI_Offset displacement, int64_t current,
                                       MPI_Datatype etype, MPI_Datatype filetype, const char* datarep) {
  const std::string name = datarep ? datarep : "";
  const auto representation = find_datarep(name);
  View view{displacement_in(file, displacement, current), map_in_file(etype, representation.get()).size(),
            map_in_file(filetype, representation.get())};
  const layout::TypeMap& type = view.filetype;
  if (!type.rises((file.amode & MPI_MODE_RDONLY) != 0))
    throw MpiError(
        MPI_ERR_IO,
        "'" + file.file->path() +
            "': the file type of a view goes back, overlaps itself or begins before 0 (size " +
            std::to_string(type.size()) + ", bytes from " + std::to_string(type.true_lower_bound()) + " to " +
            std::to_string(type.true_upper_bound()) + ", extent " + std::to_string(type.extent()) + ")");
  if (view.displacement < 0) throw MpiError(MPI_ERR_ARG, "the displacement of a view is negative");
  if (view.etype_size <= 0) throw MpiError(MPI_ERR_ARG, "the etype of a view has no data");
  const bool empty = type.size() == 0;  // this task accesses no part of the file
  if (empty) view.filetype = layout::TypeMap::bytes(view.etype_size);
  return {view, {KeptType(etype), KeptType(filetype), name, representation, empty}};
}

void set_view(MpiFile& file, MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype,
              const char* datarep) {
  std::pair<View, ProgramView> made{{.displacement = -1},
                                    {}};  // SharedFile::set_view rejects this view if make_view fails
  const int64_t current = file.is_sequential() ? file.file->shared_position() : 0;
  in_step([&] { made = make_view(file, displacement, current, etype, filetype, datarep); },
          [&] { file.file->set_view(made.first, SharedFile::Agreed::deferred); });
  file.view = std::move(made.second);
}

}  // namespace
}  // namespace sheaf::mpiio

using namespace sheaf::mpiio;

extern "C" {

// Sets the view and ignores the hints. They may differ between tasks or be given on some tasks only, and this
// call must not wait for an agreement. The hints of MPI_File_open and MPI_File_set_info apply.
int PMPI_File_set_view(MPI_File handle, MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype,
                       const char* datarep, MPI_Info /*info*/) {
  return on_file_together("MPI_File_set_view", handle,
                          [&](MpiFile& file) { set_view(file, displacement, etype, filetype, datarep); });
}

int PMPI_File_get_view(MPI_File handle, MPI_Offset* displacement, MPI_Datatype* etype, MPI_Datatype* filetype,
                       char* datarep) {
  return on_file("MPI_File_get_view", handle, [&](MpiFile& file) {
    if (!displacement || !etype || !filetype || !datarep)
      throw MpiError(MPI_ERR_ARG, "a place for a result is missing");
    *displacement = file.file->view()->displacement;
    *etype = file.view.etype.for_caller();
    *filetype = file.view.filetype.for_caller();
    datarep[file.view.datarep_name.copy(datarep, MPI_MAX_DATAREP_STRING - 1)] = 0;
  });
}

int PMPI_File_get_byte_offset(MPI_File handle, MPI_Offset offset, MPI_Offset* displacement) {
  return on_file("MPI_File_get_byte_offset", handle, [&](MpiFile& file) {
    if (offset < 0) throw MpiError(MPI_ERR_ARG, "an offset is negative");
    const auto view = file.file->view();
    *displacement =
        view->offset_of(sheaf::must_fit(sheaf::checked_mul(offset, view->etype_size), "an offset"));
  });
}

int PMPI_File_get_type_extent(MPI_File handle, MPI_Datatype type, MPI_Aint* extent) {
  return on_file("MPI_File_get_type_extent", handle,
                 [&](MpiFile& file) { *extent = map_in_file(type, file.view.datarep.get()).extent(); });
}

int PMPI_File_get_type_extent_c(MPI_File handle, MPI_Datatype type, MPI_Count* extent) {
  return on_file("MPI_File_get_type_extent_c", handle,
                 [&](MpiFile& file) { *extent = map_in_file(type, file.view.datarep.get()).extent(); });
}

}  // extern "C"
