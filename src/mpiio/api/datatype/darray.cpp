#include "mpiio/api/datatype/darray.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>

namespace sheaf::mpiio {
namespace {

using layout::TypeMap;

struct Dimension {
  int64_t elements;
  int64_t block;  // consecutive elements of one task
  int64_t tasks;
  int64_t coordinate;
};

// Returns the type map of the task's elements in one dimension. `inner` is the map of one element of this
// dimension. The extent of the result covers the whole dimension.
TypeMap share_of(const Dimension& d, const TypeMap& inner) {
  const int64_t first = d.coordinate * d.block;
  const int64_t round = d.tasks * d.block;
  // Elements from the task's first one to the end of the dimension.
  const int64_t mine = std::max<int64_t>(0, d.elements - first);
  const int64_t whole = mine / round + (mine % round >= d.block ? 1 : 0);  // full blocks
  const int64_t rest = mine % round < d.block ? mine % round : 0;          // elements of a partial last block
  const std::array<int64_t, 2> counts = {whole > 0 ? 1 : 0, rest > 0 ? 1 : 0};
  const std::array<int64_t, 2> places = {first * inner.extent(), (first + whole * round) * inner.extent()};
  const std::array<TypeMap, 2> types = {TypeMap::vector(whole, d.block, round * inner.extent(), inner),
                                        TypeMap::contiguous(rest, inner)};
  return TypeMap::structure(counts, places, types).resized(0, d.elements * inner.extent());
}

}  // namespace

TypeMap build_darray(const std::vector<int64_t>& numbers, const TypeMap& element) {
  const auto dimensions = static_cast<size_t>(numbers.at(2));
  const auto argument = [&](size_t which, size_t dimension) {
    return numbers.at(3 + which * dimensions + dimension);
  };
  // The ranks of the task grid are in row-major order, even if the array is in Fortran order.
  std::vector<Dimension> all(dimensions);
  int64_t rank = numbers.at(1);
  for (size_t d = dimensions; d-- > 0;) {
    const int64_t elements = argument(0, d);
    const int64_t way = argument(1, d);
    const int64_t wished = argument(2, d);
    const int64_t tasks = way == MPI_DISTRIBUTE_NONE ? 1 : argument(3, d);
    int64_t block = std::max<int64_t>(1, (elements + tasks - 1) / tasks);
    if (way == MPI_DISTRIBUTE_CYCLIC) block = 1;
    if (way != MPI_DISTRIBUTE_NONE && wished != MPI_DISTRIBUTE_DFLT_DARG) block = wished;
    all[d] = {elements, block, tasks, rank % tasks};
    rank /= argument(3, d);
  }
  TypeMap map = element;
  if (numbers.at(3 + 4 * dimensions) == MPI_ORDER_C) {
    for (size_t d = dimensions; d-- > 0;) map = share_of(all[d], map);
  } else {
    for (const Dimension& one : all) map = share_of(one, map);
  }
  return map;
}

}  // namespace sheaf::mpiio
