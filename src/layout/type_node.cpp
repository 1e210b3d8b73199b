#include "layout/type_node.hpp"

#include <algorithm>

#include "base/checked.hpp"

namespace sheaf::layout {

namespace {

uint64_t print_of(const TypeNode& node) {
  uint64_t print = mixed(static_cast<uint64_t>(node.kind) + 1, static_cast<uint64_t>(node.size));
  for (const int64_t value : {node.count, node.stride, node.length})
    print = mixed(print, static_cast<uint64_t>(value));
  if (node.child) print = mixed(print, node.child->print);
  for (const int64_t value : node.offsets) print = mixed(print, static_cast<uint64_t>(value));
  for (const int64_t value : node.starts) print = mixed(print, static_cast<uint64_t>(value));
  for (const NodeRef& child : node.children) print = mixed(print, child->print);
  return print;
}

NodeRef sealed(TypeNode node) {
  node.print = print_of(node);
  return std::make_shared<const TypeNode>(std::move(node));
}

bool is_block(const NodeRef& node) { return node->kind == TypeNode::NodeKind::block; }

// View of a node as a loop: `count` copies of `child`, `stride` bytes apart. Any node can be viewed as a loop
// with one step.
struct LoopView {
  const NodeRef& child;
  int64_t count;
  int64_t stride;
};

LoopView steps_of(const NodeRef& node, int64_t stride) {
  if (node->kind == TypeNode::NodeKind::loop && node->stride == stride)
    return {node->child, node->count, stride};
  return {node, 1, stride};
}

// Returns one loop for `part` and `next`, or null if neither is a loop, or if `next` is not where the next
// step of `part` would be. HDF5 describes the rows of a block as a loop over all rows but the last, followed
// by the last row.
NodeRef longer_loop(const PlacedNode& part, const PlacedNode& next) {
  for (const TypeNode* const loop : {part.node.get(), next.node.get()}) {
    if (loop->kind != TypeNode::NodeKind::loop) continue;
    const LoopView first = steps_of(part.node, loop->stride), second = steps_of(next.node, loop->stride);
    const auto end = checked_mul_add(first.count, first.stride, part.at);
    if (first.child->print == second.child->print && end == next.at)
      return make_loop(first.count + second.count, loop->stride, first.child);
  }
  return nullptr;
}

// Returns the parts with adjacent blocks merged, and with loops merged with the parts that continue them.
std::vector<PlacedNode> joined(std::vector<PlacedNode> parts) {
  std::vector<PlacedNode> result;
  result.reserve(parts.size());
  for (size_t i = 0; i < parts.size();) {
    PlacedNode part = std::move(parts[i++]);
    if (is_block(part.node)) {
      int64_t size = part.node->size;
      for (; i < parts.size() && is_block(parts[i].node) && parts[i].at == part.at + size; ++i)
        size += parts[i].node->size;
      if (size != part.node->size) part.node = make_block(size);
    }
    NodeRef longer = result.empty() ? nullptr : longer_loop(result.back(), part);
    if (longer)
      result.back().node = std::move(longer);
    else
      result.push_back(std::move(part));
  }
  return result;
}

// Computes the properties that do not depend on the kind, for a node with `offsets`. part(i) returns the node
// at offsets[i].
template <class PartAt>
void measure(TypeNode& node, PartAt part) {
  node.low = INT64_MAX;
  node.high = INT64_MIN;
  node.pieces = 0;
  for (size_t i = 0; i < node.offsets.size(); ++i) {
    const TypeNode& child = part(i);
    const int64_t at = node.offsets[i];
    node.ordered = node.ordered && child.ordered && (i == 0 || at >= node.last);
    node.disjoint = node.disjoint && child.disjoint && (i == 0 || at >= node.high);
    node.low = std::min(node.low, fitting_sum(at, child.low));
    node.high = std::max(node.high, fitting_sum(at, child.high));
    node.last = at + child.last;
    node.size = fitting_sum(node.size, child.size);
    node.pieces = saturated_add(node.pieces, child.pieces);
  }
  node.disjoint = node.disjoint && node.ordered;
}

std::vector<int64_t> starts_of(const std::vector<PlacedNode>& parts) {
  std::vector<int64_t> starts{0};
  starts.reserve(parts.size() + 1);
  for (const PlacedNode& part : parts) starts.push_back(starts.back() + part.node->size);
  return starts;
}

// Returns the distance between consecutive parts if all parts are identical and evenly spaced, else nullopt.
std::optional<int64_t> even_step(const std::vector<PlacedNode>& parts) {
  const int64_t step = parts[1].at - parts[0].at;
  for (size_t i = 1; i < parts.size(); ++i)
    if (parts[i].at - parts[i - 1].at != step || parts[i].node->print != parts[0].node->print)
      return std::nullopt;
  return step;
}

}  // namespace

uint64_t mixed(uint64_t hash, uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15 + (hash << 6) + (hash >> 2);
  hash *= 0xff51afd7ed558ccd;
  return hash ^ (hash >> 32);
}

NodeRef make_block(int64_t size) { return sealed({.size = size, .high = size}); }

NodeRef make_loop(int64_t count, int64_t stride, const NodeRef& child) {
  if (count == 1) return child;
  if (is_block(child) && stride == child->size) return make_block(fitting_product(count, stride));
  if (child->kind == TypeNode::NodeKind::loop && stride == fitting_product(child->count, child->stride))
    return make_loop(fitting_product(count, child->count), child->stride, child->child);
  const int64_t end = fitting_product(count - 1, stride);
  const bool ordered = child->ordered && stride >= child->last;
  return sealed({.kind = TypeNode::NodeKind::loop,
                 .ordered = ordered,
                 .disjoint = ordered && child->disjoint && stride >= child->high,
                 .size = fitting_product(count, child->size),
                 .low = fitting_sum(std::min<int64_t>(end, 0), child->low),
                 .high = fitting_sum(std::max<int64_t>(end, 0), child->high),
                 .last = end + child->last,
                 .pieces = checked_mul(count, child->pieces).value_or(INT64_MAX),
                 .count = count,
                 .stride = stride,
                 .child = child});
}

PlacedNode make_sequence(std::vector<PlacedNode> parts) {
  if (parts.empty()) return {};
  parts = joined(std::move(parts));
  const int64_t first = parts.front().at;
  for (PlacedNode& part : parts) part.at = fitting_sum(part.at, -first);
  if (parts.size() == 1) return {parts.front().node, first};
  if (const auto step = even_step(parts))
    return {make_loop(std::ssize(parts), *step, parts.front().node), first};

  TypeNode node;
  node.offsets.reserve(parts.size());
  for (const PlacedNode& part : parts) node.offsets.push_back(part.at);
  measure(node, [&](size_t i) -> const TypeNode& { return *parts[i].node; });
  const auto differs = [&](const PlacedNode& part) { return part.node->size != parts.front().node->size; };
  if (!std::ranges::all_of(parts, is_block, &PlacedNode::node)) {
    node.kind = TypeNode::NodeKind::sequence;
    node.starts = starts_of(parts);
    for (PlacedNode& part : parts) node.children.push_back(std::move(part.node));
  } else if (std::ranges::any_of(parts, differs)) {
    node.kind = TypeNode::NodeKind::list;
    node.starts = starts_of(parts);
  } else {
    node.kind = TypeNode::NodeKind::equal;
    node.length = parts.front().node->size;
  }
  return {sealed(std::move(node)), first};
}

}  // namespace sheaf::layout
