#include "comm/topology.hpp"

#include <fnmatch.h>

#include <optional>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "base/os/host_name.hpp"
#include "base/parse.hpp"
#include "base/printable.hpp"
#include "base/setting.hpp"
#include "comm/agree.hpp"
#include "storage/text_source.hpp"

namespace sheaf {

namespace {

constexpr std::string_view tasks_key = "ion=";

// Calls take(host, I/O node) for each line of a table until take() returns true.
template <class Take>
void for_each_line(std::string_view table, Take take) {
  while (!table.empty()) {
    const size_t end = table.find('\n');
    std::string_view entry = table.substr(0, end);
    table.remove_prefix(end == std::string_view::npos ? table.size() : end + 1);
    entry = trimmed(entry.substr(0, entry.find('#')));
    const std::string_view host = entry.substr(0, entry.find_first_of(" \t"));
    const std::string_view node = trimmed(entry.substr(host.size()));
    if (!node.empty() && take(host, node)) return;
  }
}

// Returns the word of SHEAF_TOPOLOGY that describes I/O nodes; empty if no word does.
std::string_view io_node_word() {
  const char* const given = setting("SHEAF_TOPOLOGY");
  std::string_view words = given ? given : "";
  while (!words.empty())
    if (const std::string_view word = take_word(words); is_text_source(word) || word.starts_with(tasks_key))
      return word;
  return {};
}

}  // namespace

std::string io_node_of(std::string_view host, std::string_view table) {
  std::string found;
  const std::string name(host);
  for_each_line(table, [&](std::string_view pattern, std::string_view node) {
    if (fnmatch(std::string(pattern).c_str(), name.c_str(), 0) != 0) return false;
    found = node;
    return true;
  });
  return found;
}

std::optional<int64_t> find_io_node(Comm& all) {
  struct IoNodeSetting {
    int64_t table = -1;  // bytes of a table of I/O nodes; -1: there is no setting
    int64_t tasks = 0;   // tasks per I/O node; 0: as the table says
  };
  std::string table;
  IoNodeSetting told;
  std::optional<Error> problem;
  if (all.rank() == 0) {
    if (const std::string_view word = io_node_word(); word.starts_with(tasks_key)) {
      const auto tasks = parse_number(word.substr(tasks_key.size()));
      told = {0, tasks.value_or(0)};
      if (told.tasks <= 0)
        problem =
            Error(Code::invalid_argument, "SHEAF_TOPOLOGY: the tasks of an I/O node must be a number > 0");
    } else if (!word.empty()) {
      problem = attempt([&] { table = read_text_source(word); });
      told.table = std::ssize(table);
    }
  }
  all.broadcast(std::as_writable_bytes(std::span(&told, 1)), 0);
  if (told.table < 0) return std::nullopt;
  agree_with(all, problem, 0);
  if (told.tasks > 0) return all.rank() / told.tasks;
  table.resize(static_cast<size_t>(told.table));
  all.broadcast(std::as_writable_bytes(std::span(table)), 0);
  // The number of an I/O node is the number of the first table line that mentions it.
  int64_t number = 0;
  const std::string host = host_name();
  const std::string mine = io_node_of(host, table);
  if (mine.empty())
    problem = Error(Code::invalid_argument,
                    "SHEAF_TOPOLOGY: no line of the table fits the host '" + printable(host) + "'");
  for_each_line(table,
                [&](std::string_view, std::string_view node) { return node == mine || (++number, false); });
  agree(all, problem);
  return number;
}

std::unique_ptr<Comm> split_by_io_node(Comm& all) {
  const auto number = find_io_node(all);
  return number ? all.split(static_cast<int>(*number), all.rank()) : all.split_by_node();
}

Nodes find_nodes(Comm& all) {
  Nodes nodes{.count = all.node_count()};
  if (nodes.count <= 1) return nodes;
  const auto node = all.split_by_node();
  nodes.mine = node->rank() == 0;
  all.prefix_sum(std::span(&nodes.mine, 1));
  node->broadcast(std::as_writable_bytes(std::span(&nodes.mine, 1)), 0);
  return nodes;
}

}  // namespace sheaf
