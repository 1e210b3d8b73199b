// stripedfile/session/session: who is compute task and who is I/O listener in a group of tasks, and how the
// ones reach the others.
//
// A task is a compute task, a listener, or both (a listener in a thread of its own beside the program).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/comm.hpp"
#include "storage/file.hpp"
#include "stripedfile/link.hpp"
#include "stripedfile/service/constants.hpp"
#include "stripedfile/service/service.hpp"

namespace sheaf::sfio {

// How a task takes part; tasks tell each other.
enum class Role : int64_t {
  any,       // compute task; a listener in a thread too if no other task of the group is a listener
  compute,   // compute task only
  listener,  // listener only
  both,      // compute task with a listener in a thread
};

struct SessionOptions {
  int64_t room = default_room;  // listeners: bytes of data they take in one message
  // Compute tasks: seconds after which a listener that gives no sign of life is gone
  double patience = usual_patience;
  std::string name;  // listeners: host name that striped files know them by; empty: that of the machine
  std::string
      root;  // listeners: directory that stands for the root of their file system; their name is appended
};

// What a program says about roles: "" (any), "thread" (both), "thread=node" (both on the first task of every
// node, else compute), "listeners=K" (the last K tasks), "listeners=node" (the last task of every node),
// "compute", "listener". Collective over `all`, on which the words may differ only in the last two. Throws
// invalid_argument.
SHEAF_EXPORT Role role_of(Comm& all, std::string_view words);

// Options from SHEAF_SFIO_BUFFER (bytes, with K, M or G), SHEAF_SFIO_TIMEOUT (seconds), SHEAF_SFIO_NAME,
// SHEAF_SFIO_ROOT. Throws invalid_argument for what is no number > 0.
SHEAF_EXPORT SessionOptions options_from_environment();

// All a task needs to know of the others. Collective over `all`.
struct Roster {
  std::vector<ListenerFacts> listeners;  // by rising task number
  std::vector<int> compute;              // task numbers
  bool serves = false;                   // this task is a listener
  bool computes = false;                 // this task is a compute task
};
// names: "a,b,c" gives the listeners these names in their order (SHEAF_SFIO_HOSTS), "" leaves them their own.
// Throws on all tasks: mismatch if there is no listener or no compute task.
SHEAF_EXPORT Roster make_roster(Comm& all, Role role, const SessionOptions& options, std::string_view names);

// The service of the listener `task`, over `store`, which must outlive it. Throws mismatch if it is none.
SHEAF_EXPORT std::unique_ptr<Service> make_service(Store& store, const Roster& roster, int task,
                                                   const SessionOptions& options);

// Tells all listeners that the session ends. By one compute task, when no other has a request under way any
// more.
SHEAF_EXPORT void say_goodbye(Link& link);

}  // namespace sheaf::sfio
