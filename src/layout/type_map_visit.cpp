// layout/type_map: visits the pieces of a type map, and converts positions in its data to offsets and back.
#include <algorithm>

#include "base/assert.hpp"
#include "layout/type_map.hpp"
#include "layout/type_node.hpp"

namespace sheaf::layout {

namespace {

// Returns the index of the part that contains byte `position` of the data.
size_t part_at(const std::vector<int64_t>& starts, int64_t position) {
  return static_cast<size_t>(std::ranges::upper_bound(starts, position) - starts.begin()) - 1;
}

void visit_block(int64_t at, int64_t length, PieceVisitor& visitor) {
  if (length > 0) visitor.run({at, length, 0, 1});
}

// Visits bytes [from, to) of the data of blocks of `length` bytes; block i is at offset at(i). Visits a
// partial block at either end by itself, and the complete blocks in between by one call of whole(first,
// count).
template <class At, class Whole>
void visit_equal(int64_t length, int64_t from, int64_t to, At at, PieceVisitor& visitor, Whole whole) {
  int64_t first = from / length;
  const int64_t skip = from - first * length;
  if (skip > 0) {
    const int64_t end = std::min(to - first * length, length);
    visit_block(at(first) + skip, end - skip, visitor);
    ++first;
  }
  const int64_t last = to / length;
  if (last > first) whole(first, last - first);
  if (last >= first && to > last * length) visit_block(at(last), to - last * length, visitor);
}

void visit_node(const TypeNode& node, int64_t base, int64_t from, int64_t to, PieceVisitor& visitor);

// Visits copies of a node, `stride` bytes apart.
void visit_loop(const TypeNode& child, int64_t stride, int64_t base, int64_t from, int64_t to,
                PieceVisitor& visitor) {
  const auto at = [&](int64_t i) { return base + i * stride; };
  if (child.kind == TypeNode::NodeKind::block)
    return visit_equal(child.size, from, to, at, visitor, [&](int64_t first, int64_t count) {
      visitor.run({at(first), child.size, stride, count});
    });
  for (int64_t i = from / child.size; from < to; ++i) {
    const int64_t before = i * child.size;
    const int64_t end = std::min(to - before, child.size);
    visit_node(child, at(i), from - before, end, visitor);
    from = before + end;
  }
}

void visit_list(const TypeNode& node, int64_t base, int64_t from, int64_t to, PieceVisitor& visitor) {
  size_t first = part_at(node.starts, from);
  const auto rest = [&](size_t i, int64_t begin) {
    const int64_t skip = begin - node.starts[i];
    visit_block(base + node.offsets[i] + skip, std::min(to, node.starts[i + 1]) - begin, visitor);
  };
  if (from > node.starts[first]) rest(first++, from);
  const size_t last = part_at(node.starts, to);  // the partial block, or the end
  if (last > first)
    visitor.blocks({base, std::span(node.offsets).subspan(first, last - first),
                    std::span(node.starts).subspan(first, last - first + 1)});
  if (last >= first && to > node.starts[last]) rest(last, node.starts[last]);
}

void visit_sequence(const TypeNode& node, int64_t base, int64_t from, int64_t to, PieceVisitor& visitor) {
  for (size_t i = part_at(node.starts, from); from < to; ++i) {
    const int64_t end = std::min(to, node.starts[i + 1]);
    visit_node(*node.children[i], base + node.offsets[i], from - node.starts[i], end - node.starts[i],
               visitor);
    from = end;
  }
}

void visit_node(const TypeNode& node, int64_t base, int64_t from, int64_t to, PieceVisitor& visitor) {
  if (from >= to) return;
  switch (node.kind) {
    case TypeNode::NodeKind::block:
      return visit_block(base + from, to - from, visitor);
    case TypeNode::NodeKind::loop:
      return visit_loop(*node.child, node.stride, base, from, to, visitor);
    case TypeNode::NodeKind::equal:
      return visit_equal(
          node.length, from, to, [&](int64_t i) { return base + node.offsets[static_cast<size_t>(i)]; },
          visitor,
          [&](int64_t first, int64_t count) {
            visitor.equal(
                {base, node.length,
                 std::span(node.offsets).subspan(static_cast<size_t>(first), static_cast<size_t>(count))});
          });
    case TypeNode::NodeKind::list:
      return visit_list(node, base, from, to, visitor);
    case TypeNode::NodeKind::sequence:
      return visit_sequence(node, base, from, to, visitor);
  }
}

int64_t offset_in(const TypeNode& node, int64_t position) {
  switch (node.kind) {
    case TypeNode::NodeKind::block:
      return position;
    case TypeNode::NodeKind::loop:
      return position / node.child->size * node.stride + offset_in(*node.child, position % node.child->size);
    case TypeNode::NodeKind::equal:
      return node.offsets[static_cast<size_t>(position / node.length)] + position % node.length;
    case TypeNode::NodeKind::list:
    case TypeNode::NodeKind::sequence: {
      const size_t i = part_at(node.starts, position);
      const int64_t inside = position - node.starts[i];
      return node.offsets[i] +
             (node.kind == TypeNode::NodeKind::list ? inside : offset_in(*node.children[i], inside));
    }
  }
  return 0;
}

int64_t below_in(const TypeNode& node, int64_t offset) {
  if (offset <= 0) return 0;
  if (offset >= node.high) return node.size;
  // Returns the number of parts that start below `offset`, at least 1.
  const auto parts = [&] {
    return static_cast<size_t>(std::ranges::lower_bound(node.offsets, offset) - node.offsets.begin());
  };
  switch (node.kind) {
    case TypeNode::NodeKind::block:
      return offset;
    case TypeNode::NodeKind::loop: {
      const int64_t i = std::min((offset - 1) / node.stride, node.count - 1);
      return i * node.child->size + below_in(*node.child, offset - i * node.stride);
    }
    case TypeNode::NodeKind::equal: {
      const size_t last = parts() - 1;
      return static_cast<int64_t>(last) * node.length + std::min(node.length, offset - node.offsets[last]);
    }
    case TypeNode::NodeKind::list:
    case TypeNode::NodeKind::sequence: {
      const size_t last = parts() - 1;
      const int64_t inside = offset - node.offsets[last];
      return node.starts[last] + (node.kind == TypeNode::NodeKind::list
                                      ? std::min(inside, node.starts[last + 1] - node.starts[last])
                                      : below_in(*node.children[last], inside));
    }
  }
  return 0;
}

}  // namespace

void TypeMap::visit(int64_t base, int64_t from, int64_t to, PieceVisitor& visitor) const {
  SHEAF_DEBUG_ASSERT(from >= 0 && from <= to);
  if (!node_ || from >= to) return;
  base += origin_;
  if (node_->kind == TypeNode::NodeKind::block && size_ == extent_)
    return visit_block(base + from, to - from, visitor);
  visit_loop(*node_, extent_, base, from, to, visitor);
}

int64_t TypeMap::offset_of(int64_t position) const {
  SHEAF_DEBUG_ASSERT(position >= 0 && size_ > 0);
  return origin_ + position / size_ * extent_ + offset_in(*node_, position % size_);
}

int64_t TypeMap::bytes_below(int64_t offset) const {
  SHEAF_DEBUG_ASSERT(rises(true) && size_ > 0);
  offset -= origin_;
  if (offset <= 0 || !node_) return 0;
  if (extent_ <= 0) return below_in(*node_, offset);
  // Counts the complete instances below `offset`, then the instances that start below `offset` and end beyond
  // it. There is at most one of the latter, unless instances interleave.
  int64_t i = std::max<int64_t>(0, offset - node_->high) / extent_;
  int64_t below = i * size_;
  for (; i * extent_ < offset; ++i) below += below_in(*node_, offset - i * extent_);
  return below;
}

}  // namespace sheaf::layout
