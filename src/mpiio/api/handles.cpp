#include "mpiio/api/handles.hpp"

#include <map>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

#include "mpiio/api/datatype/datatypes.hpp"
#include "mpiio/api/entry.hpp"

namespace sheaf::mpiio {
namespace {

constexpr MPI_Fint first_fortran_handle = 1 << 20;

struct HandleTable {
  std::shared_mutex mutex;
  std::unordered_map<MPI_File, FilePointer> open;
  std::unordered_map<MPI_File, MPI_File> shadows;
  std::map<MPI_Fint, MPI_File> by_number;  // Fortran handles assigned so far
};

HandleTable& table() {
  static auto* const one = new HandleTable;  // programs may close files while the process ends
  return *one;
}

// Returns the file to which a handle belongs: `handle` itself, or the file of a shadow. The caller must hold
// the lock of the table.
MPI_File behind(MPI_File handle) {
  const auto shadow = table().shadows.find(handle);
  return shadow == table().shadows.end() ? handle : shadow->second;
}

}  // namespace

KeptType::KeptType(MPI_Datatype type) : type_(type) {
  if (is_predefined(type)) return;
  PMPI_Type_dup(type, &type_);
  own_ = std::shared_ptr<MPI_Datatype>(new MPI_Datatype(type_), [](MPI_Datatype* kept) {
    PMPI_Type_free(kept);
    delete kept;
  });
}

MPI_Datatype KeptType::for_caller() const {
  MPI_Datatype copy = type_;
  if (own_) PMPI_Type_dup(type_, &copy);
  return copy;
}

MpiFile::~MpiFile() {
  worker.reset();
  if (group != MPI_GROUP_NULL) PMPI_Group_free(&group);
}

MPI_File register_file(FilePointer file) {
  const MPI_File handle = file->handle();
  const std::scoped_lock lock(table().mutex);
  table().open.emplace(handle, std::move(file));
  return handle;
}

FilePointer find_file(MPI_File handle) {
  const std::shared_lock lock(table().mutex);
  auto found = table().open.find(handle);
  if (found == table().open.end() && !table().shadows.empty()) found = table().open.find(behind(handle));
  return found == table().open.end() ? nullptr : found->second;
}

void unregister_file(MPI_File handle) {
  const std::scoped_lock lock(table().mutex);
  const auto found = table().open.find(behind(handle));
  if (found == table().open.end()) return;
  table().by_number.erase(found->second->number);
  table().open.erase(found);
}

void register_shadow(MPI_File shadow, MPI_File file) {
  const std::scoped_lock lock(table().mutex);
  table().shadows[shadow] = file;
}

void forget_shadow(MPI_File shadow) {
  const std::scoped_lock lock(table().mutex);
  table().shadows.erase(shadow);
}

}  // namespace sheaf::mpiio

using namespace sheaf::mpiio;

extern "C" {

MPI_Fint PMPI_File_c2f(MPI_File file) {
  if (file == MPI_FILE_NULL) return 0;
  HandleTable& all = table();
  const std::scoped_lock lock(all.mutex);
  const auto open = all.open.find(file);
  if (open == all.open.end()) return all.shadows.contains(file) ? SHEAF_REAL(File_c2f)(file) : 0;
  int& number = open->second->number;
  if (number != 0) return number;
  number = first_fortran_handle;  // lowest free number
  for (const auto& [used, ignored] : all.by_number) {
    if (used != number) break;
    ++number;
  }
  all.by_number.emplace(number, file);
  return number;
}

MPI_File PMPI_File_f2c(MPI_Fint number) {
  if (number == 0) return MPI_FILE_NULL;
  if (number < first_fortran_handle) return SHEAF_REAL(File_f2c)(number);
  const std::shared_lock lock(table().mutex);
  const auto found = table().by_number.find(number);
  return found == table().by_number.end() ? MPI_FILE_NULL : found->second;
}

// Functions of MPI 5.
int PMPI_File_toint(MPI_File file) { return PMPI_File_c2f(file); }
MPI_File PMPI_File_fromint(int number) { return PMPI_File_f2c(number); }

}  // extern "C"
