// exchange/topology: which node a task is on, so that those who touch files can be spread over the nodes.
#pragma once

#include <cstdint>

#include "comm/comm.hpp"

namespace sheaf::exchange {

// Nodes are numbered 0..count-1 in the order of their first tasks.
struct Nodes {
  int64_t mine = 0;
  int64_t count = 1;
};

// Collective over `all`. Topology as in Comm::split_by_node, SHEAF_TOPOLOGY included.
Nodes find_nodes(Comm& all);

}  // namespace sheaf::exchange
