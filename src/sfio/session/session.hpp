// sfio/session/session: assigns the roles of compute task and I/O listener to the tasks of a group, and
// creates the services of the listeners.
//
// A task is a compute task, a listener, or both (a listener in a separate thread beside the program).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/comm.hpp"
#include "sfio/link.hpp"
#include "sfio/service/constants.hpp"
#include "sfio/service/service.hpp"
#include "storage/file.hpp"

namespace sheaf::sfio {

// The role that a task requests. Tasks exchange the value in messages.
enum class Role : int64_t {
  automatic,  // compute task; also a listener in a thread if no task of the group requests to be one
  compute,    // compute task only
  listener,   // listener only
  combined,   // compute task with a listener in a thread
};

struct SessionOptions {
  int64_t room = default_room;  // listeners: maximum bytes of data per message
  // Compute tasks: timeout in seconds after which a listener without a sign of life counts as dead.
  double timeout = usual_timeout;
  std::string name;  // listeners: host name in the names of striped files; empty: the machine's name
  // Listeners: directory that replaces the root of their file system. The listener's name is appended to it.
  std::string root;
};

// Parses the role that a program requests: "" (automatic), "thread" (combined), "thread=node" (combined on
// the first task of every host, else compute), "listeners=K" (the last K tasks), "listeners=node" (the last
// task of every host), "compute", "listener". Collective over `all`. Tasks must pass the same words, except
// that each may pass "compute" or "listener". Throws invalid_argument for other words.
SHEAF_EXPORT Role role_of(Comm& all, std::string_view words);

// Returns the options in SHEAF_SFIO_BUFFER (bytes, with K, M or G), SHEAF_SFIO_TIMEOUT (seconds),
// SHEAF_SFIO_NAME, SHEAF_SFIO_ROOT. Throws invalid_argument for a value that is no number > 0.
SHEAF_EXPORT SessionOptions options_from_environment();

// The roles of all tasks.
struct Roster {
  std::vector<ListenerFacts> listeners;  // in the order of task numbers
  std::vector<int> compute;              // task numbers
  bool serves = false;                   // this task is a listener
  bool computes = false;                 // this task is a compute task
};
// Determines the roles of all tasks. `names` is a list "a,b,c" of names for the listeners in the order of
// their tasks (SHEAF_SFIO_HOSTS), or "" to keep their own names. Collective over `all`. Throws mismatch on
// all tasks if there is no listener or no compute task.
SHEAF_EXPORT Roster make_roster(Comm& all, Role role, const SessionOptions& options, std::string_view names);

// Returns the service of the listener `task`, over `store`, which must outlive it. Throws mismatch if the
// task is no listener.
SHEAF_EXPORT std::unique_ptr<Service> make_service(Store& store, const Roster& roster, int task,
                                                   const SessionOptions& options);

// Notifies all listeners that the session ends. Called by one compute task when no other compute task has a
// request in flight.
SHEAF_EXPORT void say_goodbye(Link& link);

}  // namespace sheaf::sfio
