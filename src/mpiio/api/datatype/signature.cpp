// Computes the sequence of predefined types in a datatype.
#include <utility>

#include "mpiio/api/datatype/datatypes.hpp"

namespace sheaf::mpiio {
namespace {

Signature repeated(Signature one, int64_t count) {
  if (!one.parts.empty() && count != 1) return {MPI_DATATYPE_NULL, {std::move(one)}, count};
  one.count *= count;
  return one;
}

// Returns the number of instances of the inner type in `type`, which must not be a structure.
int64_t instances(const Contents& made, MPI_Datatype type) {
  MPI_Count outer = 0, inner = 0;
  PMPI_Type_size_x(type, &outer);
  PMPI_Type_size_x(made.types.at(0), &inner);
  return inner > 0 ? outer / inner : 0;
}

}  // namespace

Signature signature_of(MPI_Datatype type) {
  if (is_predefined(type)) return {type, {}, 1};
  const Contents made(type);
  if (!made.is_structure()) return repeated(signature_of(made.types.at(0)), instances(made, type));
  Signature all;
  for (size_t i = 0; i < made.types.size(); ++i)
    all.parts.push_back(repeated(signature_of(made.types[i]), made.numbers.at(1 + i)));
  return all;
}

}  // namespace sheaf::mpiio
