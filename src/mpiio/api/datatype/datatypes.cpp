// Builds type maps of MPI datatypes.
#include "mpiio/api/datatype/datatypes.hpp"

#include <array>
#include <memory>
#include <mutex>
#include <optional>

#include "mpiio/api/datatype/darray.hpp"
#include "mpiio/api/entry.hpp"
#include "mpiio/api/errors.hpp"

namespace sheaf::mpiio {
namespace {

using layout::TypeMap;
using Leaf = std::function<TypeMap(MPI_Datatype)>;

std::span<const int64_t> part(const std::vector<int64_t>& numbers, size_t first, size_t count) {
  return std::span(numbers).subspan(first, count);
}

TypeMap build(MPI_Datatype type, const Leaf& leaf, bool native);

TypeMap build_indexed(const Contents& made, const TypeMap& inner, bool in_elements, bool equal) {
  const auto count = static_cast<size_t>(made.numbers.at(0));
  std::vector<int64_t> places;
  if (in_elements) {
    const auto elements = part(made.numbers, equal ? 2 : 1 + count, count);
    places.assign(elements.begin(), elements.end());
    for (int64_t& place : places) place *= inner.extent();
  } else {
    places = made.addresses;
  }
  if (equal) return TypeMap::indexed_block(made.numbers.at(1), places, inner);
  return TypeMap::indexed(part(made.numbers, 1, count), places, inner);
}

TypeMap build_struct(const Contents& made, const Leaf& leaf, bool native) {
  std::vector<TypeMap> parts;
  parts.reserve(made.types.size());
  for (MPI_Datatype const type : made.types) parts.push_back(build(type, leaf, native));
  return TypeMap::structure(part(made.numbers, 1, made.types.size()), made.addresses, parts);
}

TypeMap build_subarray(const Contents& made, const TypeMap& inner) {
  const auto dimensions = static_cast<size_t>(made.numbers.at(0));
  return TypeMap::subarray(part(made.numbers, 1, dimensions), part(made.numbers, 1 + dimensions, dimensions),
                           part(made.numbers, 1 + 2 * dimensions, dimensions),
                           made.numbers.at(1 + 3 * dimensions) == MPI_ORDER_C, inner);
}

TypeMap build_derived(const Contents& made, const Leaf& leaf, bool native) {
  if (made.is_structure()) return build_struct(made, leaf, native);
  const TypeMap inner = build(made.types.at(0), leaf, native);
  const std::vector<int64_t>& n = made.numbers;
  switch (made.combiner) {
    case MPI_COMBINER_DUP:
      return inner;
    case MPI_COMBINER_CONTIGUOUS:
      return TypeMap::contiguous(n.at(0), inner);
    case MPI_COMBINER_VECTOR:
      return TypeMap::vector(n.at(0), n.at(1), n.at(2) * inner.extent(), inner);
    case MPI_COMBINER_HVECTOR:
      return TypeMap::vector(n.at(0), n.at(1), made.addresses.at(0), inner);
    case MPI_COMBINER_INDEXED:
      return build_indexed(made, inner, true, false);
    case MPI_COMBINER_HINDEXED:
      return build_indexed(made, inner, false, false);
    case MPI_COMBINER_INDEXED_BLOCK:
      return build_indexed(made, inner, true, true);
    case MPI_COMBINER_HINDEXED_BLOCK:
      return build_indexed(made, inner, false, true);
    case MPI_COMBINER_SUBARRAY:
      return build_subarray(made, inner);
    case MPI_COMBINER_DARRAY:
      return build_darray(n, inner);
    case MPI_COMBINER_RESIZED:
      return inner.resized(made.addresses.at(0), made.addresses.at(1));
    default:
      throw MpiError(MPI_ERR_TYPE, "a datatype was made in a way that is not known here (combiner " +
                                       std::to_string(made.combiner) + ")");
  }
}

// Builds the map of a type. If `native` is true, the map gets the bounds that the MPI library reports,
// because the library knows the alignment of structures.
TypeMap build(MPI_Datatype type, const Leaf& leaf, bool native) {
  if (is_predefined(type)) return leaf(type);
  const Contents made(type);
  TypeMap map = build_derived(made, leaf, native);
  if (!native) return map;
  MPI_Count lower = 0, extent = 0;
  PMPI_Type_get_extent_x(type, &lower, &extent);
  if (map.lower_bound() == lower && map.extent() == extent) return map;
  return map.resized(lower, extent);
}

TypeMap native_leaf(MPI_Datatype type) {
  MPI_Count size = 0, lower = 0, extent = 0;
  PMPI_Type_size_x(type, &size);
  PMPI_Type_get_extent_x(type, &lower, &extent);
  if (size == extent) return TypeMap::bytes(size);
  // The type is a pair of a value and an index, with padding between or after them.
  const int64_t value = size - static_cast<int64_t>(sizeof(int));
  const std::array<int64_t, 2> blocks = {1, 1};
  const std::array<TypeMap, 2> types = {TypeMap::bytes(value), TypeMap::bytes(sizeof(int))};
  const int64_t index_at = type == MPI_SHORT_INT ? int64_t{sizeof(int)} : value;
  const std::array<int64_t, 2> places = {0, index_at};
  return TypeMap::structure(blocks, places, types).resized(lower, extent);
}

int forget_map(MPI_Datatype, int, void* kept, void*) {
  delete static_cast<TypeMap*>(kept);
  return MPI_SUCCESS;
}

int map_keyval() {
  static const int keyval = [] {
    int made = MPI_KEYVAL_INVALID;
    PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, forget_map, &made, nullptr);
    return made;
  }();
  return keyval;
}

}  // namespace

TypeMap type_map(MPI_Datatype type) {
  if (type == MPI_DATATYPE_NULL) throw MpiError(MPI_ERR_TYPE, "the datatype is MPI_DATATYPE_NULL");
  if (type == MPI_BYTE || type == MPI_CHAR) return TypeMap::bytes(1);
  if (is_predefined(type)) return native_leaf(type);
  static std::mutex mutex;  // two threads may use a new type at the same time
  const std::scoped_lock lock(mutex);
  void* kept = nullptr;
  int found = 0;
  PMPI_Type_get_attr(type, map_keyval(), static_cast<void*>(&kept), &found);
  if (found) return *static_cast<TypeMap*>(kept);
  auto map = std::make_unique<TypeMap>(build(type, native_leaf, true));
  TypeMap result = *map;
  if (PMPI_Type_set_attr(type, map_keyval(), map.get()) == MPI_SUCCESS)
    static_cast<void>(map.release());  // the type owns it now
  return result;
}

TypeMap type_map_with(MPI_Datatype type, const Leaf& leaf) {
  if (type == MPI_DATATYPE_NULL) throw MpiError(MPI_ERR_TYPE, "the datatype is MPI_DATATYPE_NULL");
  return build(type, leaf, false);
}

}  // namespace sheaf::mpiio
