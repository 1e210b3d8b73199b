// Reads the constructor arguments of datatypes from MPI.
#include <utility>

#include "mpiio/api/datatype/datatypes.hpp"
#include "mpiio/api/entry.hpp"
#include "mpiio/api/errors.hpp"

namespace sheaf::mpiio {
namespace {

void check_type(int result) {
  if (result != MPI_SUCCESS) throw MpiError(MPI_ERR_TYPE, "the datatype cannot be looked into");
}

// Returns the combiner of the successor if MPI 3.0 removed the constructor.
int present(int combiner) {
#ifdef MPICH_VERSION  // removed from Open MPI
  if (combiner == MPI_COMBINER_HVECTOR_INTEGER) return MPI_COMBINER_HVECTOR;
  if (combiner == MPI_COMBINER_HINDEXED_INTEGER) return MPI_COMBINER_HINDEXED;
  if (combiner == MPI_COMBINER_STRUCT_INTEGER) return MPI_COMBINER_STRUCT;
#endif
  return combiner;
}

bool is_leaf(int combiner) {
  return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
         combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

// Distributes the counts of a large-count constructor over `numbers` and `addresses`, in the order of the
// ordinary constructor. A large-count constructor stores all numbers in one list of counts, except
// dimensions, orders, distributions, and the tasks and rank of a distributed array.
void spread_counts(int combiner, std::vector<int64_t>& numbers, std::vector<int64_t>& addresses,
                   std::vector<int64_t> counts) {
  const auto split = [&](size_t ordinary) {
    numbers.assign(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(ordinary));
    addresses.assign(counts.begin() + static_cast<std::ptrdiff_t>(ordinary), counts.end());
  };
  switch (combiner) {
    case MPI_COMBINER_HVECTOR:
    case MPI_COMBINER_HINDEXED_BLOCK:
      return split(2);
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_STRUCT:
      return split(1 + static_cast<size_t>(counts.at(0)));
    case MPI_COMBINER_RESIZED:
      return split(0);
    case MPI_COMBINER_SUBARRAY:  // dimensions, counts, order
      numbers.insert(numbers.begin() + 1, counts.begin(), counts.end());
      return;
    case MPI_COMBINER_DARRAY:  // tasks, rank, dimensions, counts, other numbers
      numbers.insert(numbers.begin() + 3, counts.begin(), counts.end());
      return;
    default:
      numbers = std::move(counts);
  }
}

// Functions that decode types created with large counts. No other function can decode these types. MPI
// libraries before MPI 4 lack the functions and such types.
using GetEnvelope = int(MPI_Datatype, MPI_Count*, MPI_Count*, MPI_Count*, MPI_Count*, int*);
using GetContents = int(MPI_Datatype, MPI_Count, MPI_Count, MPI_Count, MPI_Count, int[], MPI_Aint[],
                        MPI_Count[], MPI_Datatype[]);

struct TypeEnvelope {
  MPI_Count integers = 0;
  MPI_Count places = 0;
  MPI_Count counts = 0;
  MPI_Count inner = 0;
  int combiner = 0;
};

TypeEnvelope envelope_of(MPI_Datatype type) {
  static auto* const get = reinterpret_cast<GetEnvelope*>(find_function("PMPI_Type_get_envelope_c"));
  TypeEnvelope e;
  if (get) {
    check_type(get(type, &e.integers, &e.places, &e.counts, &e.inner, &e.combiner));
    return e;
  }
  int integers = 0, places = 0, inner = 0;
  check_type(PMPI_Type_get_envelope(type, &integers, &places, &inner, &e.combiner));
  return {integers, places, 0, inner, e.combiner};
}

}  // namespace

Contents::~Contents() {
  for (MPI_Datatype& type : types)
    if (!is_predefined(type)) PMPI_Type_free(&type);
}

Contents::Contents(MPI_Datatype type) {
  static auto* const get = reinterpret_cast<GetContents*>(find_function("PMPI_Type_get_contents_c"));
  const TypeEnvelope e = envelope_of(type);
  combiner = present(e.combiner);
  if (is_leaf(combiner)) return;
  std::vector<int> small(static_cast<size_t>(e.integers) + 1);
  std::vector<MPI_Aint> at(static_cast<size_t>(e.places) + 1);
  std::vector<MPI_Count> large(static_cast<size_t>(e.counts) + 1);
  types.resize(static_cast<size_t>(e.inner));
  if (get) {
    check_type(get(type, e.integers, e.places, e.counts, e.inner, small.data(), at.data(), large.data(),
                   types.data()));
  } else {
    check_type(PMPI_Type_get_contents(type, static_cast<int>(e.integers), static_cast<int>(e.places),
                                      static_cast<int>(e.inner), small.data(), at.data(), types.data()));
  }
  numbers.assign(small.begin(), small.end() - 1);
  addresses.assign(at.begin(), at.end() - 1);
  if (e.counts > 0) spread_counts(combiner, numbers, addresses, {large.begin(), large.end() - 1});
}

bool is_predefined(MPI_Datatype type) { return is_leaf(envelope_of(type).combiner); }

}  // namespace sheaf::mpiio
