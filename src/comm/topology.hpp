// comm/topology: which node a task is on, so that those who touch files can be spread over the nodes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "comm/comm.hpp"

namespace sheaf::exchange {

// Nodes are numbered 0..count-1 in the order of their first tasks.
struct Nodes {
  int64_t mine = 0;
  int64_t count = 1;
};

// Collective over `all`. Topology as in Comm::split_by_node, SHEAF_TOPOLOGY included.
Nodes find_nodes(Comm& all);

// The I/O node of a host by a table: lines "HOST IONODE", where HOST may have * and ? and the first line that
// fits counts; # begins a comment. Empty if no line fits. Pure.
std::string io_node_of(std::string_view host, std::string_view table);

// Collective. The number of this task's I/O node, if the environment of task 0 tells of any:
// SHEAF_TOPOLOGY=ion=M makes one of every M consecutive tasks; file:PATH and cmd:PROGRAM name a table. Throws
// as split_by_io_node() does.
std::optional<int64_t> find_io_node(Comm& all);

// Collective. The tasks of `all` whose hosts have the same I/O node (a forwarder, a router) by the table that
// the environment of task 0 names: SHEAF_TOPOLOGY=file:PATH, or =cmd:PROGRAM, which prints it, or by ion=M.
// Without one, the tasks of a node. Throws on all tasks alike: what reading the table says, and
// invalid_argument for a host that is not in it.
std::unique_ptr<Comm> split_by_io_node(Comm& all);

}  // namespace sheaf::exchange
