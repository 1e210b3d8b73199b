// mpiio/api/datatype/darray: the elements of a distributed array that belong to one task (MPI 3.1, section
// 4.1.4).
#pragma once

#include <cstdint>
#include <vector>

#include "layout/type_map.hpp"

namespace sheaf::mpiio {

// Returns the type map of this task's elements. `numbers` holds the arguments of MPI_Type_create_darray in
// their order: size, rank, ndims, the arrays gsizes, distribs, dargs and psizes, and order.
layout::TypeMap build_darray(const std::vector<int64_t>& numbers, const layout::TypeMap& element);

}  // namespace sheaf::mpiio
