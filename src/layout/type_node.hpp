// layout/type_node: the tree that represents a TypeMap. Private to type_map*.cpp.
//
// A node covers bytes relative to a base that its user supplies. Most pieces of real datatypes are in leaves
// that are visited in one step: blocks of one length at a stride or at listed offsets. Inner loops therefore
// run over arrays.
#pragma once

#include <memory>
#include <vector>

#include "base/checked.hpp"
#include "layout/type_map.hpp"

namespace sheaf::layout {

using TypeNode = TypeMap::TypeNode;
using NodeRef = std::shared_ptr<const TypeNode>;

struct TypeMap::TypeNode {
  enum class NodeKind : uint8_t {
    block,     // `size` bytes
    loop,      // `count` times `child`, `stride` bytes apart
    equal,     // blocks of `length` bytes at `offsets`
    list,      // blocks at `offsets`; `starts`: data bytes before each block, then the total
    sequence,  // `children` at `offsets`; `starts` as above
  };
  NodeKind kind = NodeKind::block;
  bool ordered = true;   // no piece begins before the preceding one
  bool disjoint = true;  // ordered, and no piece begins before the end of the preceding one
  int64_t size = 0;      // bytes of data
  int64_t low = 0;       // smallest offset of a byte
  int64_t high = 0;      // largest offset of a byte, plus 1
  int64_t last = 0;      // offset of the last piece
  int64_t pieces = 1;
  uint64_t print = 0;  // fingerprint

  int64_t count = 0;
  int64_t stride = 0;
  int64_t length = 0;
  NodeRef child = {};
  std::vector<int64_t> offsets = {};
  std::vector<int64_t> starts = {};
  std::vector<NodeRef> children = {};
};

// A node at a displacement.
struct PlacedNode {
  NodeRef node;  // null: no bytes
  int64_t at = 0;
};

// Create nodes in a normal form: adjacent blocks become one block, and evenly spaced parts become a loop.
NodeRef make_block(int64_t size);
NodeRef make_loop(int64_t count, int64_t stride, const NodeRef& child);
PlacedNode make_sequence(std::vector<PlacedNode> parts);

// Return the sum and the product. Throw invalid_argument if the result exceeds 63 bits.
inline int64_t fitting_sum(int64_t a, int64_t b) { return must_fit(checked_add(a, b), "a datatype"); }
inline int64_t fitting_product(int64_t a, int64_t b) { return must_fit(checked_mul(a, b), "a datatype"); }

// Returns `hash` with `value` mixed in.
uint64_t mixed(uint64_t hash, uint64_t value);

}  // namespace sheaf::layout
