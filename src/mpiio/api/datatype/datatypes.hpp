// mpiio/api/datatype/datatypes: conversion of MPI datatypes to type maps (layout/type_map.hpp) and
// signatures.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "base/non_copyable.hpp"
#include "layout/type_map.hpp"

namespace sheaf::mpiio {

// Constructor arguments of a type (MPI 3.1, section 4.1.13). Arguments of large-count constructors are
// ordered like those of the ordinary constructor. Constructors that MPI 3.0 removed have the combiners of
// their successors. The destructor frees the types it holds.
class Contents : private NonCopyable {
 public:
  explicit Contents(MPI_Datatype type);
  ~Contents();

  // Returns true for a structure. Its parts may have different types.
  bool is_structure() const { return combiner == MPI_COMBINER_STRUCT; }

  int combiner = MPI_COMBINER_NAMED;
  std::vector<int64_t> numbers;
  std::vector<int64_t> addresses;
  std::vector<MPI_Datatype> types;
};

// Returns true for a type that must not be freed: a named type, or a Fortran type by precision.
bool is_predefined(MPI_Datatype type);

// Returns the map of a type in memory and caches it with the type. Throws MpiError MPI_ERR_TYPE if the type
// is invalid.
layout::TypeMap type_map(MPI_Datatype type);

// Returns the map that `type` gets if leaf(t) is the map of each of its predefined types t. Displacements in
// bytes are unchanged; displacements in elements scale with the extents (MPI 3.1, section 13.5.1).
layout::TypeMap type_map_with(MPI_Datatype type, const std::function<layout::TypeMap(MPI_Datatype)>& leaf);

// The predefined types in a datatype, in type-map order. The sequence is repeated `count` times.
struct Signature {
  MPI_Datatype leaf = MPI_DATATYPE_NULL;  // if `parts` is empty
  std::vector<Signature> parts;           // concatenated
  int64_t count = 1;
};
Signature signature_of(MPI_Datatype type);

}  // namespace sheaf::mpiio
