// comm/topology: determines the host and the I/O node of each task, so that tasks with file access can be
// distributed over them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "comm/comm.hpp"

namespace sheaf {

// Hosts are numbered 0..count-1 in the order of their first tasks.
struct Nodes {
  int64_t mine = 0;
  int64_t count = 1;
};

// Collective over `all`. Numbers the hosts, as Comm::split_by_node() defines them.
Nodes find_nodes(Comm& all);

// Returns the I/O node of a host according to a table with lines "HOST IONODE". HOST may contain * and ?, the
// first matching line applies, and # starts a comment. Returns an empty string if no line matches. Pure.
std::string io_node_of(std::string_view host, std::string_view table);

// Collective. Returns the number of this task's I/O node if SHEAF_TOPOLOGY of task 0 defines I/O nodes: ion=M
// assigns one to every M consecutive tasks; file:PATH and cmd:PROGRAM name a table. Throws as
// split_by_io_node() does.
std::optional<int64_t> find_io_node(Comm& all);

// Collective. Groups the tasks of `all` by the I/O node (a forwarder or router) of their hosts, as
// SHEAF_TOPOLOGY of task 0 defines them: file:PATH names a table, cmd:PROGRAM prints one, ion=M needs none.
// Without such a word, groups the tasks of each host. Throws on all tasks alike: the error of reading the
// table, or invalid_argument if a host is not in it.
std::unique_ptr<Comm> split_by_io_node(Comm& all);

}  // namespace sheaf
