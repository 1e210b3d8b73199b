// mpiio/api/datatype/darray: the elements of a distributed array that belong to one task (MPI 3.1, section
// 4.1.4).
#pragma once

#include <cstdint>
#include <vector>

#include "layout/type_map.hpp"

namespace sheaf::mpiio {

// Returns the type map of this task's elements. `numbers` holds the arguments of MPI_Type_create_darray: the
// number of tasks, the rank and the number of dimensions; the elements of all dimensions; the distributions
// of all dimensions; their distribution arguments; their numbers of tasks; and the order.
layout::TypeMap build_darray(const std::vector<int64_t>& numbers, const layout::TypeMap& element);

}  // namespace sheaf::mpiio
