// flash_pnetcdf FILE [REPEATS]: FLASH checkpoint data through PnetCDF (Blue Gene/L paper, section 5.1).
#include <pnetcdf.h>

#include <string>

#include "flash.hpp"

namespace {

using flash::cells;

struct Place {
  int rank = 0;
  int tasks = 1;
  MPI_Offset at[4] = {0, 0, 0, 0};
  MPI_Offset mine[4] = {flash::blocks, cells, cells, cells};

  Place() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &tasks);
    at[0] = static_cast<MPI_Offset>(flash::blocks) * rank;
  }
};

void write(const char* path, const flash::Data& data) {
  const Place p;
  int file = 0;
  ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file);
  int dimensions[4];
  ncmpi_def_dim(file, "blocks", static_cast<MPI_Offset>(flash::blocks) * p.tasks, &dimensions[0]);
  for (int d = 1; d < 4; ++d) ncmpi_def_dim(file, ("d" + std::to_string(d)).c_str(), cells, &dimensions[d]);
  int variables[flash::variables];
  for (int v = 0; v < flash::variables; ++v)
    ncmpi_def_var(file, ("var" + std::to_string(v)).c_str(), NC_DOUBLE, 4, dimensions, &variables[v]);
  ncmpi_enddef(file);
  for (int v = 0; v < flash::variables; ++v)
    ncmpi_put_vara_double_all(file, variables[v], p.at, p.mine, data[static_cast<size_t>(v)].data());
  ncmpi_close(file);
}

void read(const char* path, flash::Data& data) {
  const Place p;
  int file = 0;
  ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &file);
  for (int v = 0; v < flash::variables; ++v) ncmpi_get_vara_double_all(file, v, p.at, p.mine, data[static_cast<size_t>(v)].data());
  ncmpi_close(file);
}

}  // namespace

int main(int argc, char** argv) { return flash::run(argc, argv, write, read, [](int) { return false; }); }
