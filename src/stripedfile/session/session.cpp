#include "stripedfile/session/session.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/parse.hpp"
#include "comm/agree.hpp"
#include "comm/host_name.hpp"
#include "stripedfile/listener_names.hpp"

namespace sheaf::sfio {

namespace {

int64_t positive(const char* variable, std::string_view text) {
  const auto number = parse_bytes(trimmed(text));
  if (!number || *number <= 0)
    throw Error(Code::invalid_argument, std::string(variable) + " is '" + std::string(text) +
                                            "'; expected a number > 0, as 65536, 64k or 1M");
  return *number;
}

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(at), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

// Everybody's contribution, everywhere.
std::vector<std::string> gather_to_all(Comm& all, const std::string& mine) {
  Gathered joined = all.gather(std::as_bytes(std::span(mine)), 0);
  std::vector<int64_t> sizes = joined.sizes;
  sizes.resize(static_cast<size_t>(all.size()));
  all.broadcast(std::as_writable_bytes(std::span(sizes)), 0);
  int64_t total = 0;
  for (const int64_t size : sizes) total += size;
  joined.bytes.resize(static_cast<size_t>(total));
  if (total > 0) all.broadcast(joined.bytes, 0);
  std::vector<std::string> parts;
  const auto* at = reinterpret_cast<const char*>(joined.bytes.data());
  for (const int64_t size : sizes) {
    parts.emplace_back(at, static_cast<size_t>(size));
    at += size;
  }
  return parts;
}

}  // namespace

Role role_of(Comm& all, std::string_view words) {
  const auto per_node = [&](bool last) {
    const auto node = all.split_by_node();
    return node->rank() == (last ? node->size() - 1 : 0);
  };
  // All tasks make the same calls, whatever is wrong with the words of some.
  const bool by_node = words == "listeners=node" || words == "thread=node";
  int64_t asks[] = {by_node};
  all.all_max(asks);
  const bool chosen = asks[0] != 0 && per_node(words == "listeners=node");
  if (words.empty() || words == "auto") return Role::any;
  if (words == "thread") return Role::both;
  if (words == "thread=node") return chosen ? Role::both : Role::compute;
  if (words == "compute") return Role::compute;
  if (words == "listener") return Role::listener;
  if (words == "listeners=node") return chosen ? Role::listener : Role::compute;
  if (words.starts_with("listeners=")) {
    const int64_t count = positive("the number of listeners", words.substr(10));
    return all.rank() >= all.size() - count ? Role::listener : Role::compute;
  }
  throw Error(Code::invalid_argument,
              "'" + std::string(words) +
                  "' does not say how to get I/O listeners; expected \"thread\", \"thread=node\", "
                  "\"listeners=K\", \"listeners=node\", \"compute\" or \"listener\"");
}

SessionOptions options_from_environment() {
  SessionOptions options;
  if (const char* room = std::getenv("SHEAF_SFIO_BUFFER")) options.room = positive("SHEAF_SFIO_BUFFER", room);
  if (options.room > 1 << 30) throw Error(Code::invalid_argument, "SHEAF_SFIO_BUFFER may be 1G at most");
  if (const char* seconds = std::getenv("SHEAF_SFIO_TIMEOUT"))
    options.patience = static_cast<double>(positive("SHEAF_SFIO_TIMEOUT", seconds));
  if (const char* name = std::getenv("SHEAF_SFIO_NAME")) options.name = name;
  if (const char* root = std::getenv("SHEAF_SFIO_ROOT")) options.root = root;
  return options;
}

Roster make_roster(Comm& all, Role role, const SessionOptions& options, std::string_view names) {
  // role, room, name
  const std::string name = options.name.empty() ? host_name() : options.name;
  std::string mine(1 + sizeof(int64_t), '\0');
  mine[0] = static_cast<char>(role);
  std::memcpy(mine.data() + 1, &options.room, sizeof(int64_t));
  const std::vector<std::string> told = gather_to_all(all, mine + name);
  const std::vector<std::string> given =
      gather_to_all(all, all.rank() == 0 ? std::string(names) : std::string());
  const std::vector<std::string> by_hand = split(given[0], ',');
  const auto is = [&](size_t task, Role asked) { return static_cast<Role>(told[task][0]) == asked; };
  bool others = false;
  for (size_t task = 0; task < told.size(); ++task)
    others = others || is(task, Role::listener) || is(task, Role::both);

  Roster roster;
  for (size_t task = 0; task < told.size(); ++task) {
    const bool computes = !is(task, Role::listener);
    const bool serves = is(task, Role::listener) || is(task, Role::both) || (is(task, Role::any) && !others);
    const auto number = static_cast<int>(task);
    if (computes) roster.compute.push_back(number);
    if (serves) {
      ListenerFacts facts{told[task].substr(1 + sizeof(int64_t)), number, 0};
      std::memcpy(&facts.room, told[task].data() + 1, sizeof(int64_t));
      const size_t place = roster.listeners.size();
      if (place < by_hand.size() && !by_hand[place].empty()) facts.name = by_hand[place];
      roster.listeners.push_back(std::move(facts));
    }
    if (number != all.rank()) continue;
    roster.serves = serves;
    roster.computes = computes;
  }
  if (roster.listeners.empty())
    throw Error(Code::mismatch,
                "no task of the program is an I/O listener; start sheaf-iod beside it, or ask for threads");
  if (roster.compute.empty())
    throw Error(Code::mismatch, "all tasks of the program are I/O listeners; at least one has to compute");
  return roster;
}

const ListenerFacts& own_facts(const Roster& roster, int task) {
  const auto found = std::ranges::find(roster.listeners, task, &ListenerFacts::task);
  if (found == roster.listeners.end()) throw Error(Code::mismatch, "this task is no I/O listener");
  return *found;
}

std::unique_ptr<Service> make_service(Store& store, const ListenerFacts& facts,
                                      const SessionOptions& options) {
  return std::make_unique<Service>(store, root_of_host(options.root, facts.name), facts.room);
}

void say_goodbye(Link& link) {
  const std::lock_guard hold(link.lock());
  for (int listener = 0; listener < std::ssize(link.listeners()); ++listener)
    attempt([&] { wait(link, listener, *link.start(listener, {.kind = Kind::bye}, {}, {})); });
}

}  // namespace sheaf::sfio
