#include "sfio/session/session.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/os/host_name.hpp"
#include "base/parse.hpp"
#include "comm/agree.hpp"
#include "comm/reduce.hpp"
#include "sfio/listener_names.hpp"

namespace sheaf::sfio {

namespace {

int64_t positive(const char* variable, std::string_view text) {
  const auto number = parse_bytes(trimmed(text));
  if (!number || *number <= 0)
    throw Error(Code::invalid_argument, std::string(variable) + " is '" + std::string(text) +
                                            "'; expected a number > 0, as 65536, 64k or 1M");
  return *number;
}

// Gathers the contributions of all tasks on all tasks.
Gathered gather_to_all(Comm& all, std::span<const std::byte> mine) {
  Gathered joined = all.gather(mine, 0);
  joined.sizes.resize(static_cast<size_t>(all.size()));
  all.broadcast(std::as_writable_bytes(std::span(joined.sizes)), 0);
  joined.bytes.resize(static_cast<size_t>(joined.offsets().back()));
  if (!joined.bytes.empty()) all.broadcast(joined.bytes, 0);
  return joined;
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The contribution of a task; the name of the task follows in the message.
struct TaskContribution {
  Role role;
  int64_t room;
};

}  // namespace

Role role_of(Comm& all, std::string_view words) {
  const auto per_node = [&](bool last) {
    const auto node = all.split_by_node();
    return node->rank() == (last ? node->size() - 1 : 0);
  };
  // All tasks make the same collective calls, even if the words of some are invalid.
  const bool by_node = words == "listeners=node" || words == "thread=node";
  const bool chosen = any_task(all, by_node) && per_node(words == "listeners=node");
  const std::pair<std::string_view, Role> roles[] = {
      {"", Role::automatic},
      {"auto", Role::automatic},
      {"thread", Role::combined},
      {"thread=node", chosen ? Role::combined : Role::compute},
      {"compute", Role::compute},
      {"listener", Role::listener},
      {"listeners=node", chosen ? Role::listener : Role::compute}};
  for (const auto& [word, role] : roles)
    if (words == word) return role;
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
    options.timeout = static_cast<double>(positive("SHEAF_SFIO_TIMEOUT", seconds));
  if (const char* name = std::getenv("SHEAF_SFIO_NAME")) options.name = name;
  if (const char* root = std::getenv("SHEAF_SFIO_ROOT")) options.root = root;
  return options;
}

Roster make_roster(Comm& all, Role role, const SessionOptions& options, std::string_view names) {
  const std::string name = options.name.empty() ? host_name() : options.name;
  const TaskContribution own{role, options.room};
  Gathered mine;
  mine.add(std::as_bytes(std::span(&own, 1)));
  mine.add(std::as_bytes(std::span(name)));
  const Gathered told = gather_to_all(all, mine.bytes);
  const Gathered given = gather_to_all(all, std::as_bytes(std::span(all.rank() == 0 ? names : "")));
  std::string_view by_hand = text_of(given.bytes);
  std::vector<TaskContribution> tasks(told.sizes.size());
  const auto pieces = told.pieces();
  for (size_t task = 0; task < tasks.size(); ++task)
    std::memcpy(&tasks[task], pieces[task].data(), sizeof(TaskContribution));
  const bool others = std::ranges::any_of(tasks, [](const TaskContribution& one) {
    return one.role == Role::listener || one.role == Role::combined;
  });

  Roster roster;
  for (size_t task = 0; task < tasks.size(); ++task) {
    const auto [said, room] = tasks[task];
    const bool computes = said != Role::listener;
    const bool serves =
        said == Role::listener || said == Role::combined || (said == Role::automatic && !others);
    const auto number = static_cast<int>(task);
    if (computes) roster.compute.push_back(number);
    if (serves) {
      const std::string_view given_name = take_word(by_hand);
      const std::string_view own_name = text_of(pieces[task].subspan(sizeof(TaskContribution)));
      roster.listeners.push_back({std::string(given_name.empty() ? own_name : given_name), number, room});
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

std::unique_ptr<Service> make_service(Store& store, const Roster& roster, int task,
                                      const SessionOptions& options) {
  const auto own = std::ranges::find(roster.listeners, task, &ListenerFacts::task);
  if (own == roster.listeners.end()) throw Error(Code::mismatch, "this task is no I/O listener");
  return std::make_unique<Service>(store, root_of_host(options.root, own->name), own->room);
}

void say_goodbye(Link& link) {
  const std::lock_guard hold(link.lock());
  ask(link,
      questions(0, link.listeners().size(),
                [](size_t i) {
                  return Question{static_cast<int>(i), {.kind = RequestKind::disconnect}};
                }),
      OnError::kept);
}

}  // namespace sheaf::sfio
