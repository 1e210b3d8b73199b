// patterns NAME[,NAME...] FILE [REPEATS|write|read]: access patterns of the Blue Gene/L paper (section 5).
// Writes and reads back each pattern REPEATS times, with verification, through the MPI-IO of the process.
// Prints for each pattern "PATTERN <name>" and "TIME <phase> <seconds>" with the minimum time of each phase:
// write, read, and whole, which includes opening and closing the file. With write or read, only writes the
// file and leaves it, or only reads a file that another run has written, and prints "SPAN <what> <begin>
// <end>" of opening, and of the transfer with closing, in seconds of CLOCK_MONOTONIC. The same binary runs
// with the MPI library's own I/O and with the preloaded drop-in (bench_mpiio.py). If built WITH_LISTENERS,
// the tasks that SHEAF_SFIO selects are I/O listeners, and FILE is a striped file.
//
// - contiguous[-independent]: IOR, one block of 16 MiB per task in calls of 1 MiB; contiguous-BYTES[-BLOCK]:
//   in collective calls of BYTES, one block of BLOCK bytes per task
// - view: a matrix of 2048 x 2048 doubles in blocks; the view of each task is one block, in 16 calls
// - e3sm: lists like those of a climate model: 72 levels of 32 Ki cells of 8 bytes; runs of 1 to 32 cells are
//   distributed at random, equally in all levels
// - segments-BYTES: IOR with segments (-s), one block of BYTES per task and segment, in collective calls of a
//   block at explicit offsets; 16 MiB per task
// - strided-BYTES: IOR, records of BYTES, distributed round-robin
// - coll_perf: a 3-D array of ints in blocks, 16 Mi ints per 4 tasks
// - bt-A, bt-B, bt-C: BT-IO, diagonal multipartitioning of 64^3, 102^3 or 162^3 cells of 5 doubles (square
//   number of tasks)
// - irregular-BYTES: HOMME, elements of BYTES, scattered over the tasks
// - irregular-loop-BYTES: the same with HOMME's original loop, an independent call for every element
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "timed_together.hpp"

#ifdef WITH_LISTENERS
#include "sfio.h"
#endif

namespace {

MPI_Comm world = MPI_COMM_WORLD;  // the tasks that transfer data
int rank = 0;
int tasks = 1;

struct AccessPattern {
  MPI_Datatype type = MPI_BYTE;  // file type
  int64_t bytes = 0;             // of this task
  MPI_Offset displacement = 0;
  int64_t call = 0;  // bytes per call; 0: one call for all
  bool collective = true;
  std::vector<MPI_Offset> places;  // offset of each piece, for a loop of calls; empty: given by the view
};

MPI_Datatype committed(MPI_Datatype type) {
  MPI_Type_commit(&type);
  return type;
}

AccessPattern contiguous(bool collective, int64_t call = 1 << 20, int64_t block = 16 << 20) {
  AccessPattern p;
  p.bytes = block;
  p.displacement = rank * p.bytes;
  p.call = call;
  p.collective = collective;
  return p;
}

AccessPattern segments(int block) {
  AccessPattern p;
  p.call = block;
  for (int64_t i = 0; i < (16 << 20) / block; ++i) p.places.push_back((i * tasks + rank) * block);
  p.bytes = std::ssize(p.places) * block;
  return p;
}

AccessPattern strided(int record) {
  constexpr int total = 16 << 20;
  AccessPattern p;
  const int count = total / tasks / record;
  MPI_Datatype lines;
  MPI_Type_create_hvector(count, record, static_cast<MPI_Aint>(tasks) * record, MPI_BYTE, &lines);
  p.type = committed(lines);
  p.bytes = static_cast<int64_t>(count) * record;
  p.displacement = static_cast<MPI_Offset>(rank) * record;
  return p;
}

AccessPattern coll_perf() {
  AccessPattern p;
  int grid[3] = {0, 0, 0};
  MPI_Dims_create(tasks, 3, grid);
  int sizes[3] = {256, 256, 256 * std::max(1, tasks / 4)};
  std::sort(grid, grid + 3);
  const int coordinates[3] = {rank / (grid[1] * grid[2]), rank / grid[2] % grid[1], rank % grid[2]};
  int parts[3];
  int starts[3];
  p.bytes = sizeof(int);
  for (int d = 0; d < 3; ++d) {
    parts[d] = sizes[d] / grid[d];
    starts[d] = coordinates[d] * parts[d];
    p.bytes *= parts[d];
  }
  MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &p.type);
  MPI_Type_commit(&p.type);
  return p;
}

AccessPattern view() {
  int grid[2] = {0, 0};
  MPI_Dims_create(tasks, 2, grid);
  const int sizes[2] = {2048, 2048};
  int parts[2];
  int starts[2];
  const int coordinates[2] = {rank / grid[1], rank % grid[1]};
  for (int d = 0; d < 2; ++d) {
    starts[d] = sizes[d] * coordinates[d] / grid[d];
    parts[d] = sizes[d] * (coordinates[d] + 1) / grid[d] - starts[d];
  }
  AccessPattern p;
  p.bytes = int64_t{8} * parts[0] * parts[1];
  p.call = (p.bytes + 15) / 16;
  MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_DOUBLE, &p.type);
  MPI_Type_commit(&p.type);
  return p;
}

AccessPattern e3sm() {
  constexpr int levels = 72, cells = 32 << 10, most = 32;
  std::mt19937 random(11);
  std::vector<int> lengths;  // lengths of this task's runs in a level
  std::vector<MPI_Aint> places;
  for (int at = 0; at < cells;) {
    const int run = std::min(cells - at, 1 + static_cast<int>(random() % most));
    if (static_cast<int>(random() % static_cast<unsigned>(tasks)) == rank) {
      places.push_back(MPI_Aint{8} * at);
      lengths.push_back(8 * run);
    }
    at += run;
  }
  MPI_Datatype runs;
  MPI_Datatype level;
  MPI_Type_create_hindexed(static_cast<int>(places.size()), lengths.data(), places.data(), MPI_BYTE, &runs);
  MPI_Type_create_resized(runs, 0, MPI_Aint{8} * cells, &level);
  AccessPattern p;
  MPI_Type_contiguous(levels, level, &p.type);
  MPI_Type_commit(&p.type);
  MPI_Type_free(&level);
  MPI_Type_free(&runs);
  p.bytes = levels * std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
  return p;
}

AccessPattern bt(int points) {
  int q = 1;
  while (q * q < tasks) ++q;
  if (q * q != tasks) std::exit((std::fprintf(stderr, "bt needs a square number of tasks\n"), 2));
  const auto begin = [&](int cell) { return cell * points / q; };
  AccessPattern p;
  std::vector<MPI_Datatype> cells;
  for (int z = 0; z < q; ++z) {
    const int at[3] = {z, (rank / q + z) % q, (rank % q + z) % q};
    int sizes[4] = {points, points, points, 5};
    int parts[4] = {0, 0, 0, 5};
    int starts[4] = {0, 0, 0, 0};
    for (int d = 0; d < 3; ++d) {
      starts[d] = begin(at[d]);
      parts[d] = begin(at[d] + 1) - starts[d];
    }
    p.bytes += int64_t{8} * parts[0] * parts[1] * parts[2] * 5;
    MPI_Type_create_subarray(4, sizes, parts, starts, MPI_ORDER_C, MPI_DOUBLE, &cells.emplace_back());
  }
  const std::vector<int> lengths(cells.size(), 1);
  const std::vector<MPI_Aint> places(cells.size(), 0);
  MPI_Type_create_struct(q, lengths.data(), places.data(), cells.data(), &p.type);
  MPI_Type_commit(&p.type);
  return p;
}

AccessPattern irregular(int element, bool loop) {
  const int count = (16 << 20) / std::max(element, 64);
  std::vector<int> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(7));
  std::vector<int> mine;
  for (int i = rank; i < count; i += tasks) mine.push_back(order[static_cast<size_t>(i)]);
  std::sort(mine.begin(), mine.end());
  MPI_Datatype one;
  MPI_Type_contiguous(element, MPI_BYTE, &one);
  AccessPattern p;
  if (loop) {
    for (const int place : mine) p.places.push_back(static_cast<MPI_Offset>(place) * element);
    MPI_Type_free(&one);
    p.collective = false;
    p.bytes = static_cast<int64_t>(mine.size()) * element;
    p.call = element;
    return p;
  }
  MPI_Type_create_indexed_block(static_cast<int>(mine.size()), 1, mine.data(), one, &p.type);
  MPI_Type_commit(&p.type);
  p.bytes = static_cast<int64_t>(mine.size()) * element;
  return p;
}

int number_behind(const std::string& name) { return std::atoi(name.c_str() + name.rfind('-') + 1); }

AccessPattern pattern_of(const std::string& name) {
  if (name == "contiguous") return contiguous(true);
  if (name == "contiguous-independent") return contiguous(false);
  long call = 0, block = 16 << 20;
  if (std::sscanf(name.c_str(), "contiguous-%ld-%ld", &call, &block) > 0)
    return contiguous(true, call, block);
  if (name.starts_with("segments-")) return segments(number_behind(name));
  if (name == "view") return view();
  if (name == "e3sm") return e3sm();
  if (name == "coll_perf") return coll_perf();
  if (name == "bt-A") return bt(64);
  if (name == "bt-B") return bt(102);
  if (name == "bt-C") return bt(162);
  if (name.starts_with("strided-")) return strided(number_behind(name));
  if (name.starts_with("irregular-"))
    return irregular(number_behind(name), name.starts_with("irregular-loop-"));
  std::exit((std::fprintf(stderr, "no pattern '%s'\n", name.c_str()), 2));
}

void transfer(MPI_File file, const AccessPattern& p, std::vector<unsigned char>& memory, bool writes) {
  const int64_t step = p.call > 0 ? p.call : p.bytes;
  MPI_File_seek(file, 0, MPI_SEEK_SET);
  for (int64_t at = 0; at < p.bytes; at += step) {
    const int n = static_cast<int>(std::min(step, p.bytes - at));
    unsigned char* const b = memory.data() + at;
    if (!p.places.empty()) {
      const MPI_Offset place = p.places[static_cast<size_t>(at / step)];
      if (writes)
        (p.collective ? MPI_File_write_at_all : MPI_File_write_at)(file, place, b, n, MPI_BYTE,
                                                                   MPI_STATUS_IGNORE);
      else
        (p.collective ? MPI_File_read_at_all : MPI_File_read_at)(file, place, b, n, MPI_BYTE,
                                                                 MPI_STATUS_IGNORE);
    } else if (writes && p.collective)
      MPI_File_write_all(file, b, n, MPI_BYTE, MPI_STATUS_IGNORE);
    else if (writes)
      MPI_File_write(file, b, n, MPI_BYTE, MPI_STATUS_IGNORE);
    else if (p.collective)
      MPI_File_read_all(file, b, n, MPI_BYTE, MPI_STATUS_IGNORE);
    else
      MPI_File_read(file, b, n, MPI_BYTE, MPI_STATUS_IGNORE);
  }
}

// Deletes the file on one task; a missing file is accepted.
void delete_file(const char* name) {
  if (rank == 0) MPI_File_delete(name, MPI_INFO_NULL);
  MPI_Barrier(world);
}

std::vector<unsigned char> bytes_of_task(const AccessPattern& p) {
  std::vector<unsigned char> data(static_cast<size_t>(p.bytes));
  std::mt19937_64 random(static_cast<uint64_t>(rank) + 1);
  for (size_t i = 0; i + 8 <= data.size(); i += 8) {
    const uint64_t word = random();
    std::memcpy(&data[i], &word, sizeof word);
  }
  return data;
}

// Collective. Returns whether the task has a wrong byte on any task.
bool any_wrong(bool wrong) {
  int all = wrong ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MAX, world);
  if (all != 0 && rank == 0) std::printf("WRONG BYTES\n");
  return all != 0;
}

// Only writes the file, or only reads it. Returns whether any task read wrong bytes.
bool run_phase(const std::string& name, const char* path, bool writes) {
  AccessPattern p = pattern_of(name);
  std::vector<unsigned char> data = bytes_of_task(p);
  std::vector<unsigned char> back(writes ? 0 : data.size());
  if (writes) delete_file(path);
  MPI_File file;
  const TimeSpan open = span_together(world, [&] {
    MPI_File_open(world, path, writes ? MPI_MODE_CREATE | MPI_MODE_RDWR : MPI_MODE_RDONLY, MPI_INFO_NULL,
                  &file);
    MPI_File_set_view(file, p.displacement, MPI_BYTE, p.type, "native", MPI_INFO_NULL);
  });
  const TimeSpan moved = span_together(world, [&] {
    transfer(file, p, writes ? data : back, writes);
    MPI_File_close(&file);
  });
  if (p.type != MPI_BYTE) MPI_Type_free(&p.type);
  if (rank == 0)
    std::printf("PATTERN %s\nSPAN open %.6f %.6f\nSPAN %s %.6f %.6f\n", name.c_str(), open.begin, open.end,
                writes ? "write" : "read", moved.begin, moved.end);
  return any_wrong(!writes && data != back);
}

// Returns whether any task read wrong bytes.
bool run(const std::string& name, const char* path, int repeats) {
  AccessPattern p = pattern_of(name);
  std::vector<unsigned char> data = bytes_of_task(p);
  std::vector<unsigned char> back(data.size());
  double least[3] = {1e30, 1e30, 1e30};
  bool wrong = false;
  for (int i = 0; i < repeats; ++i) {
    delete_file(path);
    MPI_File file;
    std::fill(back.begin(), back.end(), 0);
    double times[3] = {};
    times[2] = timed_together(world, [&] {
      MPI_File_open(world, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
      MPI_File_set_view(file, p.displacement, MPI_BYTE, p.type, "native", MPI_INFO_NULL);
    });
    times[0] = timed_together(world, [&] { transfer(file, p, data, true); });
    times[1] = timed_together(world, [&] { transfer(file, p, back, false); });
    times[2] += times[0] + times[1] + timed_together(world, [&] { MPI_File_close(&file); });
    for (int phase = 0; phase < 3; ++phase) least[phase] = std::min(least[phase], times[phase]);
    wrong = wrong || data != back;
  }
  if (p.type != MPI_BYTE) MPI_Type_free(&p.type);
  delete_file(path);
  if (rank == 0)
    std::printf("PATTERN %s\nTIME write %.6f\nTIME read %.6f\nTIME whole %.6f\n", name.c_str(), least[0],
                least[1], least[2]);
  wrong = any_wrong(wrong);
  std::fflush(stdout);
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
#ifdef WITH_LISTENERS
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  if (sfio_start(MPI_COMM_WORLD, nullptr, &world) != 0) return 1;
  if (world == MPI_COMM_NULL) return MPI_Finalize();
#else
  MPI_Init(&argc, &argv);
#endif
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &tasks);
  if (argc < 3) MPI_Abort(world, 2);
  const std::string how = argc > 3 ? argv[3] : "3";
  const bool phase = how == "write" || how == "read";
  bool wrong = false;
  std::istringstream names(argv[1]);
  for (std::string name; std::getline(names, name, ',');)
    wrong |= phase ? run_phase(name, argv[2], how == "write") : run(name, argv[2], std::atoi(how.c_str()));
  MPI_Finalize();
  return wrong;
}
