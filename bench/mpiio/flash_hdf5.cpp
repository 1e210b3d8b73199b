// flash_hdf5 FILE [REPEATS [CELLS [keep]]]: FLASH checkpoint and plot files through parallel HDF5 (Blue
// Gene/L paper, section 5.1).
#include <hdf5.h>

#include <string>

#include "flash.hpp"

namespace {

// Returns the dataspace of a variable in the file, with the blocks of this task selected; n^3 points per
// block.
hid_t file_space(int n) {
  int rank = 0;
  int tasks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &tasks);
  const auto points = static_cast<hsize_t>(n);
  const hsize_t all[4] = {static_cast<hsize_t>(flash::blocks) * static_cast<hsize_t>(tasks), points, points,
                          points};
  const hsize_t mine[4] = {flash::blocks, points, points, points};
  const hsize_t at[4] = {static_cast<hsize_t>(flash::blocks) * static_cast<hsize_t>(rank), 0, 0, 0};
  const hid_t space = H5Screate_simple(4, all, nullptr);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, at, nullptr, mine, nullptr);
  return space;
}

// Returns the dataspace of one variable in memory, with all cells except guard cells selected.
hid_t memory_space(int variable) {
  const auto n = static_cast<hsize_t>(flash::cells), side = static_cast<hsize_t>(flash::side());
  const hsize_t all[5] = {flash::blocks, side, side, side, flash::variables};
  const hsize_t inner[5] = {flash::blocks, n, n, n, 1};
  const hsize_t at[5] = {0, flash::guard, flash::guard, flash::guard, static_cast<hsize_t>(variable)};
  const hid_t space = H5Screate_simple(5, all, nullptr);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, at, nullptr, inner, nullptr);
  return space;
}

hid_t contiguous_space(int n) {
  const auto points = static_cast<hsize_t>(n);
  const hsize_t mine[4] = {flash::blocks, points, points, points};
  return H5Screate_simple(4, mine, nullptr);
}

hid_t access_list() {
  const hid_t list = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_mpio(list, MPI_COMM_WORLD, MPI_INFO_NULL);
  return list;
}

hid_t collective() {
  const hid_t list = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_dxpl_mpio(list, H5FD_MPIO_COLLECTIVE);
  return list;
}

// Writes a variable. Every third variable is chunked by the blocks of one task.
void put(hid_t file, int variable, int n, hid_t type, hid_t memory, const void* data) {
  const hid_t transfer = collective();
  const hid_t space = file_space(n);
  const hid_t how = H5Pcreate(H5P_DATASET_CREATE);
  const auto points = static_cast<hsize_t>(n);
  const hsize_t chunk[4] = {flash::blocks, points, points, points};
  if (variable % 3 == 0) H5Pset_chunk(how, 4, chunk);
  const hid_t set = H5Dcreate2(file, ("var" + std::to_string(variable)).c_str(), type, space, H5P_DEFAULT,
                               how, H5P_DEFAULT);
  H5Dwrite(set, type, memory, space, transfer, data);
  H5Dclose(set);
  H5Pclose(how);
  H5Sclose(space);
  H5Sclose(memory);
  H5Pclose(transfer);
}

class Hdf5 {
 public:
  explicit Hdf5(flash::Data& data) : data_(data) {}

  void write(const char* path) {
    const hid_t access = access_list();
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    for (int v = 0; v < flash::variables; ++v)
      put(file, v, flash::cells, H5T_NATIVE_DOUBLE, memory_space(v), data_.unknowns.data());
    H5Fclose(file);
    H5Pclose(access);
  }

  void plot(const flash::Plot& values, const char* path, int n) {
    const hid_t access = access_list();
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    for (int v = 0; v < flash::plot_variables; ++v)
      put(file, v, n, H5T_NATIVE_FLOAT, contiguous_space(n), values[static_cast<size_t>(v)].data());
    H5Fclose(file);
    H5Pclose(access);
  }

  void read(const char* path) {
    const hid_t access = access_list();
    const hid_t transfer = collective();
    const hid_t space = file_space(flash::cells);
    const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, access);
    for (int v = 0; v < flash::variables; ++v) {
      const hid_t set = H5Dopen2(file, ("var" + std::to_string(v)).c_str(), H5P_DEFAULT);
      const hid_t memory = memory_space(v);
      H5Dread(set, H5T_NATIVE_DOUBLE, memory, space, transfer, data_.unknowns.data());
      H5Sclose(memory);
      H5Dclose(set);
    }
    H5Fclose(file);
    H5Sclose(space);
    H5Pclose(transfer);
    H5Pclose(access);
  }

  void take_back(flash::Data& /*data*/) {}

 private:
  flash::Data& data_;
};

}  // namespace

int main(int argc, char** argv) { return flash::run<Hdf5>(argc, argv); }
