// layout/type_map: constructs type maps.
#include "layout/type_map.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "layout/type_node.hpp"

namespace sheaf::layout {

namespace {

void require_count(int64_t count) {
  if (count < 0) throw Error(Code::invalid_argument, "a datatype with a count of " + std::to_string(count));
}

}  // namespace

TypeMap::TypeMap() = default;

TypeMap::TypeMap(std::shared_ptr<const TypeNode> node, int64_t origin)
    : node_(std::move(node)), origin_(origin) {
  if (!node_) return;
  size_ = node_->size;
  true_lower_ = fitting_sum(origin_, node_->low);
  true_upper_ = fitting_sum(origin_, node_->high);
  pieces_ = node_->pieces;
}

// Extends the bounds to include `count` instances of `type` at `displacement`. `first`: replaces the bounds.
void TypeMap::cover(int64_t displacement, int64_t count, const TypeMap& type, bool first) {
  const int64_t reach = fitting_product(count - 1, type.extent_);
  const int64_t low = fitting_sum(displacement, fitting_sum(type.lower_, std::min<int64_t>(0, reach)));
  const int64_t high = fitting_sum(
      displacement, fitting_sum(fitting_sum(type.lower_, type.extent_), std::max<int64_t>(0, reach)));
  const int64_t end = first ? high : std::max(high, lower_ + extent_);
  lower_ = first ? low : std::min(low, lower_);
  extent_ = fitting_sum(end, -lower_);
}

void TypeMap::seal() {
  fingerprint_ = mixed(
      mixed(mixed(node_ ? node_->print : 1, static_cast<uint64_t>(origin_)), static_cast<uint64_t>(lower_)),
      static_cast<uint64_t>(extent_));
}

TypeMap TypeMap::bytes(int64_t size) {
  require_count(size);
  TypeMap map = size == 0 ? TypeMap() : TypeMap(make_block(size), 0);
  map.extent_ = size;
  map.seal();
  return map;
}

TypeMap TypeMap::vector(int64_t count, int64_t block_length, int64_t stride, const TypeMap& type) {
  require_count(count);
  require_count(block_length);
  if (count == 0 || block_length == 0) return bytes(0);
  TypeMap map =
      type.node_
          ? TypeMap(make_loop(count, stride, make_loop(block_length, type.extent_, type.node_)), type.origin_)
          : TypeMap();
  map.cover(0, block_length, type, true);
  map.cover(fitting_product(count - 1, stride), block_length, type, false);
  map.seal();
  return map;
}

// Constructs a type from groups. Group i consists of block_lengths[i] instances of type_of(i). Consecutive
// identical groups share a node.
template <class TypeOf>
TypeMap TypeMap::groups(std::span<const int64_t> block_lengths, std::span<const int64_t> displacements,
                        TypeOf type_of) {
  TypeMap bounds;
  bool first = true;
  std::vector<PlacedNode> parts;
  parts.reserve(block_lengths.size());
  const TypeMap* before = nullptr;
  int64_t length_before = 0;
  for (size_t i = 0; i < block_lengths.size(); ++i) {
    const TypeMap& type = type_of(i);
    require_count(block_lengths[i]);
    if (block_lengths[i] == 0) continue;
    bounds.cover(displacements[i], block_lengths[i], type, std::exchange(first, false));
    if (!type.node_) continue;
    const bool same = std::exchange(before, &type) == &type && length_before == block_lengths[i];
    length_before = block_lengths[i];
    parts.push_back({same ? parts.back().node : make_loop(length_before, type.extent_, type.node_),
                     fitting_sum(displacements[i], type.origin_)});
  }
  PlacedNode all = make_sequence(std::move(parts));
  return TypeMap(std::move(all.node), all.at).resized(bounds.lower_, bounds.extent_);
}

TypeMap TypeMap::indexed(std::span<const int64_t> block_lengths, std::span<const int64_t> displacements,
                         const TypeMap& type) {
  if (block_lengths.size() != displacements.size())
    throw Error(Code::invalid_argument, "a datatype with as many block lengths as displacements is needed");
  return groups(block_lengths, displacements, [&](size_t) -> const TypeMap& { return type; });
}

TypeMap TypeMap::indexed_block(int64_t block_length, std::span<const int64_t> displacements,
                               const TypeMap& type) {
  return indexed(std::vector<int64_t>(displacements.size(), block_length), displacements, type);
}

TypeMap TypeMap::structure(std::span<const int64_t> block_lengths, std::span<const int64_t> displacements,
                           std::span<const TypeMap> types) {
  if (block_lengths.size() != displacements.size() || types.size() != displacements.size())
    throw Error(Code::invalid_argument,
                "a datatype with as many block lengths and types as displacements is needed");
  return groups(block_lengths, displacements, [&](size_t i) -> const TypeMap& { return types[i]; });
}

TypeMap TypeMap::subarray(std::span<const int64_t> sizes, std::span<const int64_t> subsizes,
                          std::span<const int64_t> starts, bool row_major, const TypeMap& type) {
  const size_t dimensions = sizes.size();
  if (dimensions == 0 || subsizes.size() != dimensions || starts.size() != dimensions)
    throw Error(Code::invalid_argument, "a subarray needs sizes, subsizes and starts of its dimensions");
  TypeMap map = type;
  int64_t stride = type.extent_;  // bytes of one step in the dimension
  int64_t begin = 0;
  for (size_t i = 0; i < dimensions; ++i) {
    const size_t d = row_major ? dimensions - 1 - i : i;
    if (subsizes[d] < 0 || starts[d] < 0 || starts[d] > sizes[d] - subsizes[d])
      throw Error(Code::invalid_argument, "a subarray of " + std::to_string(subsizes[d]) + " from " +
                                              std::to_string(starts[d]) +
                                              " does not lie inside an array of " + std::to_string(sizes[d]));
    map = vector(subsizes[d], 1, stride, map);
    begin = fitting_sum(begin, fitting_product(starts[d], stride));
    stride = fitting_product(stride, sizes[d]);
  }
  const int64_t one = 1;
  return indexed(std::span(&one, 1), std::span(&begin, 1), map).resized(0, stride);
}

TypeMap TypeMap::resized(int64_t lower_bound, int64_t extent) const {
  TypeMap map = *this;
  map.lower_ = lower_bound;
  map.extent_ = extent;
  map.seal();
  return map;
}

bool TypeMap::rises(bool may_overlap) const {
  return !node_ || (true_lower_ >= 0 && (may_overlap ? node_->ordered : node_->disjoint));
}

bool TypeMap::is_ordered(bool may_overlap) const {
  return rises(may_overlap) && (!node_ || extent_ >= (may_overlap ? node_->last : node_->high));
}

TypeMap TypeMap::set_apart() const {
  return resized(lower_, node_ ? std::max(extent_, node_->high) : extent_);
}

}  // namespace sheaf::layout
