// api/mpiio/types/datatypes: MPI datatypes as type maps (layout/type_map.hpp) and as signatures.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "base/non_copyable.hpp"
#include "layout/type_map.hpp"

namespace sheaf::mpiio {

// How a type was made (MPI 3.1, section 4.1.13), types made with large counts included: numbers and addresses
// stand where the constructor with ordinary counts has them. Frees the types it holds.
class Contents : private NonCopyable {
 public:
  explicit Contents(MPI_Datatype type);
  ~Contents();

  // Made as a structure: of parts of several types.
  bool is_structure() const;

  int combiner = MPI_COMBINER_NAMED;
  std::vector<int64_t> numbers;
  std::vector<int64_t> addresses;
  std::vector<MPI_Datatype> types;
};

// A type of MPI itself, which nobody frees: a named one, or one of the Fortran types by precision.
bool is_predefined(MPI_Datatype type);

// The map of a type in memory, remembered with the type. Throws MpiError MPI_ERR_TYPE if there is no such
// type.
layout::TypeMap type_map(MPI_Datatype type);

// The map of a type whose predefined types have the maps that `leaf` gives; displacements in bytes are taken
// as they are, those in elements follow the extents (MPI 3.1, section 13.5.1).
layout::TypeMap type_map_with(MPI_Datatype type, const std::function<layout::TypeMap(MPI_Datatype)>& leaf);

// Which predefined types a type consists of, in the order of its map: each so many times.
struct Signature {
  MPI_Datatype leaf = MPI_DATATYPE_NULL;  // of a signature without parts
  std::vector<Signature> parts;           // one behind the other
  int64_t count = 1;
};
Signature signature_of(MPI_Datatype type);

}  // namespace sheaf::mpiio
