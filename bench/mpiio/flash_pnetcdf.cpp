// flash_pnetcdf FILE [REPEATS [CELLS [keep]]]: FLASH checkpoint and plot files through PnetCDF (Blue Gene/L
// paper, section 5.1). The program packs the variables before it writes them. If built with NONBLOCKING, one
// call at the end of a file writes (reads) all its variables.
#include <pnetcdf.h>

#include <string>

#include "flash.hpp"

namespace {

// The blocks of this task within those of all tasks, n^3 points each.
struct FlashSubarray {
  int tasks = 1;
  MPI_Offset at[4] = {0, 0, 0, 0};
  MPI_Offset mine[4];

  explicit FlashSubarray(int n) : mine{flash::blocks, n, n, n} {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &tasks);
    at[0] = static_cast<MPI_Offset>(flash::blocks) * rank;
  }
};

#ifdef NONBLOCKING
int put(int file, int variable, const FlashSubarray& p, const double* data) {
  return ncmpi_iput_vara_double(file, variable, p.at, p.mine, data, nullptr);
}
int put(int file, int variable, const FlashSubarray& p, const float* data) {
  return ncmpi_iput_vara_float(file, variable, p.at, p.mine, data, nullptr);
}
int get(int file, int variable, const FlashSubarray& p, double* data) {
  return ncmpi_iget_vara_double(file, variable, p.at, p.mine, data, nullptr);
}
void end(int file) { ncmpi_wait_all(file, NC_REQ_ALL, nullptr, nullptr); }
#else
int put(int file, int variable, const FlashSubarray& p, const double* data) {
  return ncmpi_put_vara_double_all(file, variable, p.at, p.mine, data);
}
int put(int file, int variable, const FlashSubarray& p, const float* data) {
  return ncmpi_put_vara_float_all(file, variable, p.at, p.mine, data);
}
int get(int file, int variable, const FlashSubarray& p, double* data) {
  return ncmpi_get_vara_double_all(file, variable, p.at, p.mine, data);
}
void end(int /*file*/) {}
#endif

template <class Value>
void create(const char* path, int n, nc_type type, const std::vector<std::vector<Value>>& values) {
  const FlashSubarray p(n);
  int file = 0;
  ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file);
  int dimensions[4];
  ncmpi_def_dim(file, "blocks", static_cast<MPI_Offset>(flash::blocks) * p.tasks, &dimensions[0]);
  for (int d = 1; d < 4; ++d) ncmpi_def_dim(file, ("d" + std::to_string(d)).c_str(), n, &dimensions[d]);
  std::vector<int> variables(values.size());
  for (size_t v = 0; v < values.size(); ++v)
    ncmpi_def_var(file, ("var" + std::to_string(v)).c_str(), type, 4, dimensions, &variables[v]);
  ncmpi_enddef(file);
  for (size_t v = 0; v < values.size(); ++v) put(file, variables[v], p, values[v].data());
  end(file);
  ncmpi_close(file);
}

class Pnetcdf {
 public:
  explicit Pnetcdf(flash::Data& data) {
    for (int v = 0; v < flash::variables; ++v) packed_.push_back(data.variable<double>(v, flash::cells));
  }

  void write(const char* path) { create(path, flash::cells, NC_DOUBLE, packed_); }
  void plot(const flash::Plot& values, const char* path, int n) { create(path, n, NC_FLOAT, values); }

  void read(const char* path) {
    const FlashSubarray p(flash::cells);
    int file = 0;
    ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &file);
    for (int v = 0; v < flash::variables; ++v) get(file, v, p, packed_[static_cast<size_t>(v)].data());
    end(file);
    ncmpi_close(file);
  }

  void take_back(flash::Data& data) {
    for (int v = 0; v < flash::variables; ++v) {
      const double* next = packed_[static_cast<size_t>(v)].data();
      for (int b = 0; b < flash::blocks; ++b)
        for (int z = 0; z < flash::cells; ++z)
          for (int y = 0; y < flash::cells; ++y)
            for (int x = 0; x < flash::cells; ++x) data.unknowns[flash::index(v, b, z, y, x)] = *next++;
    }
  }

 private:
  std::vector<std::vector<double>> packed_;  // by variable
};

}  // namespace

int main(int argc, char** argv) { return flash::run<Pnetcdf>(argc, argv); }
