#include "exchange/topology.hpp"

#include <span>

namespace sheaf::exchange {

Nodes find_nodes(Comm& all) {
  Nodes nodes;
  nodes.count = all.node_count();
  if (nodes.count <= 1) return nodes;
  const auto node = all.split_by_node();
  nodes.mine = node->rank() == 0;
  all.prefix_sum(std::span(&nodes.mine, 1));
  node->broadcast(std::as_writable_bytes(std::span(&nodes.mine, 1)), 0);
  return nodes;
}

}  // namespace sheaf::exchange
