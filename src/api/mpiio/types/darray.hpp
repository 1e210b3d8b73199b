// api/mpiio/types/darray: the part of a distributed array that one task owns (MPI 3.1, section 4.1.4).
#pragma once

#include <cstdint>
#include <vector>

#include "layout/type_map.hpp"

namespace sheaf::mpiio {

// numbers: the arguments of MPI_Type_create_darray in its order: tasks, rank, dimensions, and per dimension
// elements, distributions, their arguments and tasks, then the order.
layout::TypeMap build_darray(const std::vector<int64_t>& numbers, const layout::TypeMap& element);

}  // namespace sheaf::mpiio
