// flash_hdf5 FILE [REPEATS]: FLASH checkpoint and plot data through parallel HDF5 (Blue Gene/L paper, section 5.1).
#include <hdf5.h>

#include <string>

#include "flash.hpp"

namespace {

using flash::cells;

struct Place {
  int rank = 0;
  int tasks = 1;
  hid_t memory = -1;
  hid_t file = -1;
};

Place place() {
  Place p;
  MPI_Comm_rank(MPI_COMM_WORLD, &p.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p.tasks);
  const hsize_t all[4] = {static_cast<hsize_t>(flash::blocks) * static_cast<hsize_t>(p.tasks), cells, cells, cells};
  const hsize_t mine[4] = {flash::blocks, cells, cells, cells};
  const hsize_t at[4] = {static_cast<hsize_t>(flash::blocks) * static_cast<hsize_t>(p.rank), 0, 0, 0};
  p.memory = H5Screate_simple(4, mine, nullptr);
  p.file = H5Screate_simple(4, all, nullptr);
  H5Sselect_hyperslab(p.file, H5S_SELECT_SET, at, nullptr, mine, nullptr);
  return p;
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

bool is_plotted(int variable) { return variable < flash::plot_variables; }

// Every third variable is chunked, by one block of cells for all tasks.
void write(const char* path, const flash::Data& data) {
  const Place p = place();
  const hid_t access = access_list();
  const hid_t transfer = collective();
  const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  for (int v = 0; v < flash::variables; ++v) {
    const hid_t how = H5Pcreate(H5P_DATASET_CREATE);
    const hsize_t chunk[4] = {flash::blocks, cells, cells, cells};
    if (v % 3 == 0) H5Pset_chunk(how, 4, chunk);
    const hid_t set = H5Dcreate2(file, ("var" + std::to_string(v)).c_str(), is_plotted(v) ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE, p.file,
                                 H5P_DEFAULT, how, H5P_DEFAULT);
    H5Dwrite(set, H5T_NATIVE_DOUBLE, p.memory, p.file, transfer, data[static_cast<size_t>(v)].data());
    H5Dclose(set);
    H5Pclose(how);
  }
  H5Fclose(file);
  H5Pclose(access);
  H5Pclose(transfer);
  H5Sclose(p.memory);
  H5Sclose(p.file);
}

void read(const char* path, flash::Data& data) {
  const Place p = place();
  const hid_t access = access_list();
  const hid_t transfer = collective();
  const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, access);
  for (int v = 0; v < flash::variables; ++v) {
    const hid_t set = H5Dopen2(file, ("var" + std::to_string(v)).c_str(), H5P_DEFAULT);
    H5Dread(set, H5T_NATIVE_DOUBLE, p.memory, p.file, transfer, data[static_cast<size_t>(v)].data());
    H5Dclose(set);
  }
  H5Fclose(file);
  H5Pclose(access);
  H5Pclose(transfer);
  H5Sclose(p.memory);
  H5Sclose(p.file);
}

}  // namespace

int main(int argc, char** argv) { return flash::run(argc, argv, write, read, is_plotted); }
