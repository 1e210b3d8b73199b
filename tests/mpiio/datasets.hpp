// datasets: random arrays that several tasks write and read through HDF5 (datasets_hdf5.cpp) and PnetCDF
// (datasets_pnetcdf.cpp), and their expected contents. All choices follow from the seed, the number of the
// case and the size of its group. Each task can therefore compute the choices of the others, and a case can
// be repeated alone.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace datasets {

using Random = std::mt19937_64;

inline int pick(Random& random, int from, int to) {
  return from + static_cast<int>(random() % static_cast<uint64_t>(to - from + 1));
}
inline bool one_in(Random& random, int n) { return pick(random, 1, n) == 1; }

using Dims = std::vector<uint64_t>;

inline uint64_t volume(const Dims& dims) {
  uint64_t all = 1;
  for (const uint64_t one : dims) all *= one;
  return all;
}

inline uint64_t index_of(const Dims& dims, const Dims& at) {
  uint64_t index = 0;
  for (size_t d = 0; d < dims.size(); ++d) index = index * dims[d] + at[d];
  return index;
}

inline Dims place_of(const Dims& dims, uint64_t index) {
  Dims at(dims.size());
  for (size_t d = dims.size(); d-- > 0; index /= dims[d]) at[d] = index % dims[d];
  return at;
}

inline Dims some_dims(Random& random, int rank) {
  static constexpr int longest[] = {3000, 60, 16, 8};
  Dims dims;
  for (int d = 0; d < rank; ++d) dims.push_back(static_cast<uint64_t>(pick(random, 1, longest[rank - 1])));
  return dims;
}

inline std::string text(const Dims& dims) {
  std::string result = "{";
  for (const uint64_t one : dims) result += (result.size() > 1 ? "," : "") + std::to_string(one);
  return result + "}";
}

// A regular part of an array, as HDF5 describes it: start, stride, count, block.
struct Slab {
  Dims start, stride, count, block;

  // Returns whether the slab contains the element at `at`.
  bool has(const Dims& at) const {
    for (size_t d = 0; d < at.size(); ++d) {
      if (at[d] < start[d]) return false;
      const uint64_t behind = at[d] - start[d];
      if (behind / stride[d] >= count[d] || behind % stride[d] >= block[d]) return false;
    }
    return true;
  }
};

inline std::string text(const Slab& slab) {
  return text(slab.start) + "+" + text(slab.stride) + "*" + text(slab.count) + "x" + text(slab.block);
}

// Returns a random, nonempty slab from `low` to `high` - 1.
inline Slab some_slab(Random& random, const Dims& low, const Dims& high, int widest_block) {
  Slab slab;
  for (size_t d = 0; d < low.size(); ++d) {
    const auto length = static_cast<int>(high[d] - low[d]);
    const int whole = pick(random, 0, 2);
    const int block = whole == 0 ? length : pick(random, 1, std::min(length, widest_block));
    const int from = whole == 0 ? 0 : pick(random, 0, length - block);
    const int stride = block + pick(random, 0, 3);
    const int most = (length - from - block) / stride + 1;
    slab.start.push_back(low[d] + static_cast<uint64_t>(from));
    slab.stride.push_back(static_cast<uint64_t>(stride));
    slab.block.push_back(static_cast<uint64_t>(block));
    slab.count.push_back(static_cast<uint64_t>(whole == 1 ? most : pick(random, 1, most)));
  }
  return slab;
}

// Distribution of an array to tasks along one dimension. Each task has one range, or every tasks-th group of
// `turn` indices.
struct ArrayDistribution {
  size_t along = 0;
  uint64_t turn = 0;             // 0: ranges
  std::vector<uint64_t> limits;  // limits of the ranges, one more than tasks

  ArrayDistribution(Random& random, const Dims& dims, int tasks) {
    along = static_cast<size_t>(pick(random, 0, static_cast<int>(dims.size()) - 1));
    if (one_in(random, 2))
      along = static_cast<size_t>(std::max_element(dims.begin(), dims.end()) - dims.begin());
    if (one_in(random, 3)) turn = static_cast<uint64_t>(pick(random, 1, 4));
    limits.push_back(0);
    for (int t = 1; t < tasks; ++t) {
      const bool even = turn == 0 && tasks > 1 && !one_in(random, 3);
      const uint64_t at = even ? dims[along] * static_cast<uint64_t>(t) / static_cast<uint64_t>(tasks)
                               : random() % (dims[along] + 1);
      limits.push_back(at);
    }
    limits.push_back(dims[along]);
    std::sort(limits.begin(), limits.end());
  }

  // Sets the limits of a task's part. If the tasks take turns, these are the limits of the array.
  void box(const Dims& dims, int task, Dims* low, Dims* high) const {
    low->assign(dims.size(), 0);
    *high = dims;
    if (turn > 0) return;
    (*low)[along] = limits[static_cast<size_t>(task)];
    (*high)[along] = limits[static_cast<size_t>(task) + 1];
  }

  // Restricts the slab to one of the task's indices if the tasks take turns. Returns false if the task has
  // none.
  bool take_turns(const Dims& dims, int task, int tasks, Slab* slab) const {
    const uint64_t first = static_cast<uint64_t>(task) * turn;
    if (first + turn > dims[along]) return false;
    slab->start[along] = first;
    slab->stride[along] = turn * static_cast<uint64_t>(tasks);
    slab->block[along] = turn;
    slab->count[along] = (dims[along] - first - turn) / slab->stride[along] + 1;
    return true;
  }
};

// Values are small enough for every type.

inline int some_value(uint64_t number, uint64_t operation, uint64_t index) {
  uint64_t x = number * 1000003 + operation * 7919 + index + 1;
  x *= 0x9E3779B97F4A7C15u;
  return static_cast<int>((x >> 40) % 120) + 1;
}

// Expected contents of an array.
struct ArrayContents {
  static constexpr int unknown = -1000;
  Dims dims;
  std::vector<int> values;

  // Keeps the elements inside the new limits and sets new ones to `fill`.
  void resize(const Dims& wanted, int fill) {
    std::vector<int> kept(volume(wanted), fill);
    for (uint64_t i = 0; i < kept.size(); ++i) {
      const Dims at = place_of(wanted, i);
      bool inside = !values.empty();
      for (size_t d = 0; d < at.size() && inside; ++d) inside = at[d] < dims[d];
      if (inside) kept[i] = values[index_of(dims, at)];
    }
    dims = wanted;
    values = std::move(kept);
  }
};

struct TaskGroup {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  int size = 1;
};

// One case, run by all tasks of a group.
class DatasetCase {
 public:
  DatasetCase(uint64_t seed, uint64_t number, const TaskGroup& group, std::string path, std::string program)
      : random(seed * 1000003 + number),
        number_(number),
        group_(group),
        path_(std::move(path)),
        again_("mpirun -np " + std::to_string(group.size) + " " + program + " " + std::to_string(seed) +
               " 1 . " + std::to_string(number)) {}

  bool failed() const { return failed_; }

 protected:
  Random random;  // has the same state on all tasks
  uint64_t number_;
  TaskGroup group_;
  std::string path_;
  std::string shape;  // for the message

  // Generator for choices of one task, known to all tasks.
  Random of_task(uint64_t operation, int task) const {
    return Random((number_ * 131 + operation) * 977 + static_cast<uint64_t>(task) + 5);
  }

  void wrong(const std::string& what) {
    if (!failed_)
      std::printf("case %llu, task %d of %d: %s\n  shape: %s\n  again: %s\n",
                  static_cast<unsigned long long>(number_), group_.rank, group_.size, what.c_str(),
                  shape.c_str(), again_.c_str());
    std::fflush(stdout);
    failed_ = true;
  }

  // Aborts the job if a call has failed, because other tasks may wait for this one.
  void worked(long result, const std::string& call) {
    if (result >= 0) return;
    wrong(call + " fails");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }

  void same(int expected, int found, const Dims& dims, uint64_t index, const std::string& what) {
    if (expected == found || expected == ArrayContents::unknown) return;
    wrong(what + ": element " + text(place_of(dims, index)) + ": expected " + std::to_string(expected) +
          ", found " + std::to_string(found));
  }

  // Returns hints that must not change the result.
  MPI_Info some_hints() {
    MPI_Info info = MPI_INFO_NULL;
    if (one_in(random, 2)) return info;
    MPI_Info_create(&info);
    const char* const words[] = {"automatic", "enable", "disable"};
    MPI_Info_set(info, "romio_cb_write", words[pick(random, 0, 2)]);
    MPI_Info_set(info, "romio_cb_read", words[pick(random, 0, 2)]);
    MPI_Info_set(info, "romio_ds_write", words[pick(random, 0, 2)]);
    MPI_Info_set(info, "cb_buffer_size", std::to_string(pick(random, 1, 20) * 512).c_str());
    MPI_Info_set(info, "cb_nodes", std::to_string(pick(random, 1, 3)).c_str());
    return info;
  }

 private:
  std::string again_;
  bool failed_ = false;
};

// Distributes the cases to concurrent groups of 1 to all tasks. The arguments are PROGRAM SEED COUNT
// DIRECTORY [FIRST]. If there is only one case, all tasks run it. Returns the exit code.
template <class OneCase>
int run_all(int argc, char** argv, const char* name) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int tasks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &tasks);
  if (argc < 4) {
    if (rank == 0) std::fprintf(stderr, "%s SEED COUNT DIRECTORY [FIRST]\n", name);
    MPI_Finalize();
    return 2;
  }
  const uint64_t seed = std::strtoull(argv[1], nullptr, 10);
  const uint64_t count = std::strtoull(argv[2], nullptr, 10);
  const uint64_t first = argc > 4 ? std::strtoull(argv[4], nullptr, 10) : 0;
  int failures = 0;
  for (uint64_t number = first; number < first + count;) {
    Random random(seed * 31 + number);
    int group = 0;
    int groups = 0;
    for (int begin = 0; begin < tasks; ++groups) {
      const int size = count == 1 ? tasks : std::min(pick(random, 1, 4), tasks - begin);
      if (rank >= begin && rank < begin + size) group = groups;
      begin += size;
    }
    TaskGroup mine;
    const uint64_t own = number + static_cast<uint64_t>(group);
    MPI_Comm_split(MPI_COMM_WORLD, group, rank, &mine.comm);
    MPI_Comm_rank(mine.comm, &mine.rank);
    MPI_Comm_size(mine.comm, &mine.size);
    if (own < first + count) {
      int failed = 0;
      {
        OneCase one(seed, own, mine, std::string(argv[3]) + "/" + name + "." + std::to_string(group),
                    argv[0]);
        one.run();
        failed = one.failed();
      }
      MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, mine.comm);
      failures += failed && mine.rank == 0;
    }
    MPI_Comm_free(&mine.comm);
    number += static_cast<uint64_t>(groups);
  }
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::printf("%llu cases, %d failed\n", static_cast<unsigned long long>(count), failures);
  MPI_Finalize();
  return failures ? 1 : 0;
}

}  // namespace datasets
