// bench/mpiio/flash: the data of the FLASH I/O kernel: blocks of 8^3 cells, 24 variables, one dataset per variable in the
// checkpoint; the plot file has 4 variables in single precision.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace flash {

constexpr int cells = 8;
constexpr int variables = 24;
constexpr int plot_variables = 4;
constexpr int blocks = 80;  // per task
constexpr int values = blocks * cells * cells * cells;

inline double value(int rank, int variable, int i) { return 1e6 * variable + 1e3 * rank + 1e-3 * i; }

// All variables of one task.
using Data = std::vector<std::vector<double>>;

// Arguments: FILE [REPEATS [keep]]. Writes the data with write(path, data) and reads them with read(path, data) so many times
// and prints the least times, in which nothing is computed or compared. single(v): whether variable v is in single precision in
// the file. The file is removed unless a third argument is given.
template <class Write, class Read, class Single>
int run(int argc, char** argv, Write write, Read read, Single single) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc < 2) MPI_Abort(MPI_COMM_WORLD, 2);
  const int repeats = argc > 2 ? std::atoi(argv[2]) : 3;
  double least[2] = {1e30, 1e30};
  int wrong = 0;
  const auto timed = [](auto&& work) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    work();
    double mine = MPI_Wtime() - start;
    MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return mine;
  };
  Data data(variables, std::vector<double>(values));
  for (int v = 0; v < variables; ++v)
    for (int i = 0; i < values; ++i) data[static_cast<size_t>(v)][static_cast<size_t>(i)] = value(rank, v, i);
  Data stored = data;  // as it comes out of the file
  for (int v = 0; v < variables; ++v)
    if (single(v))
      for (double& x : stored[static_cast<size_t>(v)]) x = static_cast<float>(x);
  for (int i = 0; i < repeats; ++i) {
    if (rank == 0) std::remove(argv[1]);
    least[0] = std::min(least[0], timed([&] { write(argv[1], data); }));
    Data back(variables, std::vector<double>(values));
    least[1] = std::min(least[1], timed([&] { read(argv[1], back); }));
    wrong |= back != stored;
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0) {
    if (argc < 4) std::remove(argv[1]);
    std::printf("TIME write %.6f\nTIME read %.6f\n", least[0], least[1]);
    if (wrong) std::printf("WRONG BYTES\n");
  }
  MPI_Finalize();
  return wrong;
}

}  // namespace flash
