// Which predefined types a datatype consists of.
#include <utility>

#include "api/mpiio/types/datatypes.hpp"

namespace sheaf::mpiio {
namespace {

using Item = Signature::Item;

Item repeated(Item item, int64_t count) {
  item.count *= count;
  return item;
}

// How many instances of its inner type a type has that is not made as a structure.
int64_t instances(const Contents& made, MPI_Datatype type) {
  MPI_Count outer = 0;
  MPI_Count inner = 0;
  PMPI_Type_size_x(type, &outer);
  PMPI_Type_size_x(made.types.at(0), &inner);
  return inner > 0 ? outer / inner : 0;
}

}  // namespace

Item Signature::of(MPI_Datatype type) {
  if (is_predefined(type)) return {type, {}, 1};
  const Contents made(type);
  const bool structure = made.combiner == MPI_COMBINER_STRUCT
#ifdef MPICH_VERSION  // Open MPI has no such types any more
                         || made.combiner == MPI_COMBINER_STRUCT_INTEGER
#endif
      ;
  if (!structure) {
    Item inner = of(made.types.at(0));
    const int64_t count = instances(made, type);
    if (inner.parts.empty() || count == 1) return repeated(std::move(inner), count);
    return {MPI_DATATYPE_NULL, {std::move(inner)}, count};
  }
  Item all;
  for (size_t i = 0; i < made.types.size(); ++i) {
    Item part = of(made.types[i]);
    const int64_t count = made.numbers.at(1 + i);
    if (part.parts.empty()) {
      all.parts.push_back(repeated(std::move(part), count));
    } else {
      all.parts.push_back({MPI_DATATYPE_NULL, {std::move(part)}, count});
    }
  }
  return all;
}

}  // namespace sheaf::mpiio
