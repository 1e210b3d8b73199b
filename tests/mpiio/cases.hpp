// Random datatypes for the differential test: file types that are disjoint between tasks, and memory types
// with holes, in any order. All choices follow from generators seeded by (seed, case[, task]).
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace cases {

using Random = std::mt19937_64;

inline int pick(Random& random, int from, int to) {
  return from + static_cast<int>(random() % static_cast<uint64_t>(to - from + 1));
}

inline MPI_Datatype committed(MPI_Datatype type) {
  MPI_Type_commit(&type);
  return type;
}

inline int64_t size_of(MPI_Datatype type) {
  int size = 0;
  MPI_Type_size(type, &size);
  return size;
}

inline MPI_Datatype resized(MPI_Datatype type, MPI_Aint lower, MPI_Aint extent) {
  MPI_Datatype result;
  MPI_Type_create_resized(type, lower, extent, &result);
  MPI_Type_free(&type);
  return result;
}

inline MPI_Datatype elementary(Random& random) {
  MPI_Datatype type;
  switch (pick(random, 0, 5)) {
    case 0:
      MPI_Type_dup(MPI_BYTE, &type);
      break;
    case 1:
      MPI_Type_dup(MPI_DOUBLE, &type);
      break;
    case 2:
      MPI_Type_contiguous(3, MPI_CHAR, &type);
      break;
    case 3:
      MPI_Type_contiguous(5, MPI_INT, &type);
      break;
    default:
      MPI_Type_dup(MPI_INT, &type);
  }
  return committed(type);
}

struct UnitBlock {
  int at = 0;  // units
  int length = 0;
};

// Creates a type of `blocks` with one of the constructors of MPI.
inline MPI_Datatype from_blocks(Random& random, const std::vector<UnitBlock>& blocks, MPI_Datatype unit) {
  const auto width = static_cast<MPI_Aint>(size_of(unit));
  const int n = static_cast<int>(blocks.size());
  std::vector<int> lengths;
  std::vector<int> places;
  std::vector<MPI_Aint> bytes;
  std::vector<MPI_Datatype> types;
  for (const UnitBlock& block : blocks) {
    lengths.push_back(block.length);
    places.push_back(block.at);
    bytes.push_back(block.at * width);
    types.push_back(unit);
  }
  MPI_Datatype result;
  switch (pick(random, 0, 4)) {
    case 0:
      MPI_Type_indexed(n, lengths.data(), places.data(), unit, &result);
      break;
    case 1:
      MPI_Type_create_hindexed(n, lengths.data(), bytes.data(), unit, &result);
      break;
    case 2:
      MPI_Type_create_struct(n, lengths.data(), bytes.data(), types.data(), &result);
      break;
    case 3: {
      places.clear();
      for (const UnitBlock& block : blocks)
        for (int i = 0; i < block.length; ++i) places.push_back(block.at + i);
      MPI_Type_create_indexed_block(static_cast<int>(places.size()), 1, places.data(), unit, &result);
      break;
    }
    default: {
      bytes.clear();
      for (const UnitBlock& block : blocks)
        for (int i = 0; i < block.length; ++i) bytes.push_back((block.at + i) * width);
      MPI_Type_create_hindexed_block(static_cast<int>(bytes.size()), 1, bytes.data(), unit, &result);
    }
  }
  return result;
}

// Distributes the units of a period among the tasks and returns the type of this task's units. Some units may
// belong to no task.
inline MPI_Datatype dealt(Random& shared, Random& own, int rank, int tasks, MPI_Datatype unit) {
  const int period = pick(shared, tasks, 60);
  std::vector<int> owner(static_cast<size_t>(period));
  for (int u = 0; u < period;) {
    const int length = pick(shared, 1, 7);
    const int who = pick(shared, -1, tasks - 1);
    for (int i = 0; i < length && u < period; ++i) owner[static_cast<size_t>(u++)] = who;
  }
  for (int t = 0; t < tasks; ++t) owner[static_cast<size_t>(t)] = t;  // every task has a unit
  std::vector<UnitBlock> mine;
  for (int u = 0; u < period; ++u) {
    if (owner[static_cast<size_t>(u)] != rank) continue;
    if (!mine.empty() && mine.back().at + mine.back().length == u)
      ++mine.back().length;
    else
      mine.push_back({u, 1});
  }
  return resized(from_blocks(own, mine, unit), 0, static_cast<MPI_Aint>(period * size_of(unit)));
}

inline MPI_Datatype distributed(Random& shared, int rank, int tasks, MPI_Datatype unit) {
  const int dimensions = pick(shared, 1, 3);
  std::vector<int> grid(static_cast<size_t>(dimensions), 0);
  MPI_Dims_create(tasks, dimensions, grid.data());
  std::vector<int> sizes;
  std::vector<int> ways;
  std::vector<int> arguments;
  for (const int across : grid) {
    const bool cyclic = pick(shared, 0, 1) == 1;
    const int block = pick(shared, 1, 3);
    sizes.push_back(cyclic ? across * block + pick(shared, 0, 9) : across * pick(shared, 1, 4));
    ways.push_back(cyclic ? MPI_DISTRIBUTE_CYCLIC : MPI_DISTRIBUTE_BLOCK);
    arguments.push_back(cyclic ? block : MPI_DISTRIBUTE_DFLT_DARG);
  }
  MPI_Datatype result;
  MPI_Type_create_darray(tasks, rank, dimensions, sizes.data(), ways.data(), arguments.data(), grid.data(),
                         pick(shared, 0, 1) ? MPI_ORDER_C : MPI_ORDER_FORTRAN, unit, &result);
  return result;
}

// Returns one slab of an array that is cut along one dimension: one slab per task, with gaps between them.
inline MPI_Datatype slab(Random& shared, int rank, int tasks, MPI_Datatype unit) {
  const int dimensions = pick(shared, 1, 3);
  const int cut = pick(shared, 0, dimensions - 1);
  std::vector<int> sizes;
  std::vector<int> parts;
  std::vector<int> starts;
  for (int d = 0; d < dimensions; ++d) {
    const int gap = pick(shared, 0, 2);
    const int part = pick(shared, 1, 5);
    const int before = pick(shared, 0, 3);
    sizes.push_back(before + (d == cut ? tasks * (part + gap) : part + gap));
    parts.push_back(part);
    starts.push_back(before + (d == cut ? rank * (part + gap) : 0));
  }
  MPI_Datatype result;
  MPI_Type_create_subarray(dimensions, sizes.data(), parts.data(), starts.data(),
                           pick(shared, 0, 1) ? MPI_ORDER_C : MPI_ORDER_FORTRAN, unit, &result);
  return result;
}

inline MPI_Datatype strided(Random& shared, int rank, int tasks, MPI_Datatype unit) {
  const int length = pick(shared, 1, 9);
  const int count = pick(shared, 1, 12);
  const int stride = tasks * length + pick(shared, 0, 5);
  MPI_Datatype lines;
  MPI_Type_vector(count, length, stride, unit, &lines);
  const int one = 1;
  const auto at = static_cast<MPI_Aint>(rank * length * size_of(unit));
  MPI_Datatype placed;
  MPI_Type_create_struct(1, &one, &at, &lines, &placed);
  MPI_Type_free(&lines);
  return resized(placed, 0, static_cast<MPI_Aint>(count * stride * size_of(unit)));
}

// Returns a file type of this task. The file types of different tasks are disjoint at any common offset.
inline MPI_Datatype file_type(Random& shared, Random& own, int rank, int tasks, MPI_Datatype unit) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  switch (pick(shared, 0, 4)) {
    case 0:
      type = distributed(shared, rank, tasks, unit);
      break;
    case 1:
      type = slab(shared, rank, tasks, unit);
      break;
    case 2:
      type = strided(shared, rank, tasks, unit);
      break;
    default:
      type = dealt(shared, own, rank, tasks, unit);
  }
  if (pick(shared, 0, 3) == 0) {  // wraps the type in one more constructor
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    MPI_Type_get_extent(type, &lower, &extent);
    const int count = pick(shared, 1, 3);
    const int apart = pick(shared, 1, 2);
    MPI_Datatype nested;
    MPI_Type_create_hvector(count, 1, apart * extent, type, &nested);
    MPI_Type_free(&type);
    type = resized(nested, 0, count * apart * extent);
  }
  return committed(type);
}

// Memory of a transfer of about `units` units. It consists of instances of a type with blocks in any order,
// some at negative displacements.
struct TransferMemory {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  int count = 0;
  std::vector<unsigned char> bytes;
  unsigned char* address = nullptr;

  TransferMemory(Random& random, int units, MPI_Datatype unit) {
    const auto width = static_cast<MPI_Aint>(size_of(unit));
    if (pick(random, 0, 2) == 0) {
      MPI_Type_dup(unit, &type);
      count = units;
    } else {
      std::vector<UnitBlock> blocks;
      int at = pick(random, -3, 3);
      int held = 0;
      for (int i = pick(random, 1, 5); i > 0; --i) {
        const int length = pick(random, 1, 6);
        blocks.push_back({at, length});
        at += length + pick(random, 0, 2);
        held += length;
      }
      if (pick(random, 0, 1)) std::shuffle(blocks.begin(), blocks.end(), random);
      type = resized(from_blocks(random, blocks, unit), 0, (at + 4) * width);
      count = units / held;
    }
    MPI_Type_commit(&type);
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    MPI_Type_get_extent(type, &lower, &extent);
    bytes.assign(static_cast<size_t>((count + 1) * extent + 8 * width), 0xEE);
    address = bytes.data() + 4 * width;
  }
  TransferMemory(const TransferMemory&) = delete;
  ~TransferMemory() { MPI_Type_free(&type); }
};

}  // namespace cases
