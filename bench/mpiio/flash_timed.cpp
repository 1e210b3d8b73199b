// flash_timed: measures the time that libraries spend in file reads and writes. Functions of the program take
// precedence over those of libraries, so PnetCDF and HDF5 call the functions of this file. These call the MPI
// library, or the drop-in, by the profiling names.
#include "flash.hpp"

double flash::in_file_calls = 0;

namespace {

template <class Call>
int timed(Call call) {
  const double start = MPI_Wtime();
  const int result = call();
  flash::in_file_calls += MPI_Wtime() - start;
  return result;
}

}  // namespace

extern "C" {

int MPI_File_write_at(MPI_File file, MPI_Offset offset, const void* data, int count, MPI_Datatype type,
                      MPI_Status* status) {
  return timed([&] { return PMPI_File_write_at(file, offset, data, count, type, status); });
}
int MPI_File_write_at_all(MPI_File file, MPI_Offset offset, const void* data, int count, MPI_Datatype type,
                          MPI_Status* status) {
  return timed([&] { return PMPI_File_write_at_all(file, offset, data, count, type, status); });
}
int MPI_File_read_at(MPI_File file, MPI_Offset offset, void* data, int count, MPI_Datatype type,
                     MPI_Status* status) {
  return timed([&] { return PMPI_File_read_at(file, offset, data, count, type, status); });
}
int MPI_File_read_at_all(MPI_File file, MPI_Offset offset, void* data, int count, MPI_Datatype type,
                         MPI_Status* status) {
  return timed([&] { return PMPI_File_read_at_all(file, offset, data, count, type, status); });
}
int MPI_File_write(MPI_File file, const void* data, int count, MPI_Datatype type, MPI_Status* status) {
  return timed([&] { return PMPI_File_write(file, data, count, type, status); });
}
int MPI_File_write_all(MPI_File file, const void* data, int count, MPI_Datatype type, MPI_Status* status) {
  return timed([&] { return PMPI_File_write_all(file, data, count, type, status); });
}
int MPI_File_read(MPI_File file, void* data, int count, MPI_Datatype type, MPI_Status* status) {
  return timed([&] { return PMPI_File_read(file, data, count, type, status); });
}
int MPI_File_read_all(MPI_File file, void* data, int count, MPI_Datatype type, MPI_Status* status) {
  return timed([&] { return PMPI_File_read_all(file, data, count, type, status); });
}

}  // extern "C"
