// bench/mpiio/flash: the FLASH I/O benchmark as described in the Blue Gene/L paper (section 5.1).
//
// Each task holds 80 blocks of 16^3 cells. In memory a block has four guard cells on each side, and the 24
// variables of a cell are adjacent. In the checkpoint each variable is an array of all blocks of all tasks,
// in double precision without guard cells: 2.5 MiB per task and collective operation. The plot files contain
// four variables in single precision, at the centres and at the corners of the cells; the program converts
// them before writing.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "timed_together.hpp"

namespace flash {

constexpr int guard = 4;
constexpr int variables = 24;
constexpr int plot_variables = 4;
constexpr int blocks = 80;  // per task

inline int cells = 16;  // per block, in each direction

inline int side() { return cells + 2 * guard; }

// Seconds that this task has spent in file reads and writes, whichever library called them (flash_timed.cpp).
// The paper calls this "MPI".
extern double in_file_calls;

// Returns the index of cell (x, y, z), counted without guard cells.
inline size_t index(int variable, int block, int z, int y, int x) {
  const auto n = static_cast<size_t>(side());
  const auto line =
      (static_cast<size_t>(block) * n + static_cast<size_t>(z + guard)) * n + static_cast<size_t>(y + guard);
  return (line * n + static_cast<size_t>(x + guard)) * variables + static_cast<size_t>(variable);
}

inline double value(int rank, int variable, int block, int z, int y, int x) {
  return 1e9 * rank + 1e7 * variable + 1e5 * block + 256 * z + 16 * y + x;
}

// Calls visit(value, place in memory) for every variable of every cell.
template <class Visit>
void for_each_value(int rank, Visit visit) {
  for (int b = 0; b < blocks; ++b)
    for (int z = 0; z < cells; ++z)
      for (int y = 0; y < cells; ++y)
        for (int x = 0; x < cells; ++x)
          for (int v = 0; v < variables; ++v) visit(value(rank, v, b, z, y, x), index(v, b, z, y, x));
}

using Plot = std::vector<std::vector<float>>;  // by variable

// The data of one task.
struct Data {
  std::vector<double> unknowns;  // with guard cells; all variables of a cell are adjacent
  Plot centred, cornered;

  explicit Data(int rank)
      : unknowns(static_cast<size_t>(blocks) * static_cast<size_t>(side() * side() * side()) * variables,
                 -1) {
    for_each_value(rank, [&](double x, size_t at) { unknowns[at] = x; });
    for (int v = 0; v < plot_variables; ++v) {
      centred.push_back(variable<float>(v, cells));
      cornered.push_back(variable<float>(v, cells + 1));
    }
  }

  // Returns one variable of the first n cells of each block in each direction. n = cells + 1 gives one value
  // per corner.
  template <class Value>
  std::vector<Value> variable(int v, int n) const {
    std::vector<Value> result;
    for (int b = 0; b < blocks; ++b)
      for (int z = 0; z < n; ++z)
        for (int y = 0; y < n; ++y)
          for (int x = 0; x < n; ++x) result.push_back(static_cast<Value>(unknowns[index(v, b, z, y, x)]));
    return result;
  }

  void forget() { std::fill(unknowns.begin(), unknowns.end(), -1); }
  bool is_of(int rank) const {
    bool same = true;
    for_each_value(rank, [&](double x, size_t at) { same &= unknowns[at] == x; });
    return same;
  }
};

// Runs the benchmark with a kind of file. `Library` is constructed with the data of the task. Its write(path)
// and read(path) transfer a checkpoint. Its plot(values, path, n) writes a plot file with n points of a block
// in each direction. Its take_back() copies into `unknowns` what read() stored elsewhere.
//
// Arguments: FILE [REPEATS [CELLS [keep]]]. Repeats everything REPEATS times and prints the minimum times,
// which exclude computation and verification. Removes the files unless there is a fourth argument.
template <class Library>
int run(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc < 2) MPI_Abort(MPI_COMM_WORLD, 2);
  const std::string checkpoint = argv[1];
  const std::string centred = checkpoint + ".centred", cornered = checkpoint + ".cornered";
  const int repeats = argc > 2 ? std::atoi(argv[2]) : 3;
  if (argc > 3) cells = std::atoi(argv[3]);
  const auto remove_files = [&] {
    if (rank == 0)
      for (const std::string& path : {checkpoint, centred, cornered}) std::remove(path.c_str());
  };
  const char* const names[] = {"write",     "centred",     "corner",     "read",     "plot",
                               "write-mpi", "centred-mpi", "corner-mpi", "read-mpi", "plot-mpi"};
  constexpr int kinds = 5;
  double least[2 * kinds];
  std::fill_n(least, 2 * kinds, 1e30);
  const auto timed = [&](int what, auto work) {
    in_file_calls = 0;
    least[what] = std::min(least[what], timed_together(MPI_COMM_WORLD, work));
    double most = in_file_calls;
    MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    least[kinds + what] = std::min(least[kinds + what], most);
  };
  Data data(rank);
  Library library(data);
  int wrong = 0;
  for (int i = 0; i < repeats; ++i) {
    remove_files();
    timed(0, [&] { library.write(checkpoint.c_str()); });
    timed(1, [&] { library.plot(data.centred, centred.c_str(), cells); });
    timed(2, [&] { library.plot(data.cornered, cornered.c_str(), cells + 1); });
    data.forget();
    timed(3, [&] { library.read(checkpoint.c_str()); });
    library.take_back(data);
    wrong |= !data.is_of(rank);
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (argc < 5) remove_files();
  for (const int level : {0, kinds}) least[level + 4] = least[level + 1] + least[level + 2];
  if (rank == 0)
    for (int what = 0; what < 2 * kinds; ++what) std::printf("TIME %s %.6f\n", names[what], least[what]);
  if (rank == 0 && wrong) std::printf("WRONG BYTES\n");
  MPI_Finalize();
  return wrong;
}

}  // namespace flash
