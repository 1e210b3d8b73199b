#include "api/sion/forgotten.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "api/sion/exit_saves.hpp"
#include "api/sion/handles/guard.hpp"
#include "api/sion/handles/handle.hpp"
#include "api/sion/opening.hpp"
#include "base/forks.hpp"
#include "base/os/deadline.hpp"
#include "base/os/mpi_end.hpp"
#include "base/service_thread.hpp"
#include "base/setting.hpp"
#include "comm/agree.hpp"
#include "comm/threads/thread_comm.hpp"

namespace sheaf::api {

namespace {

using std::chrono::milliseconds;

// Default of SHEAF_FINALIZE_WAIT: seconds that a task waits in MPI_Finalize for other tasks with the same
// multifile open. MPI_Finalize itself waits for all tasks without limit, so the timeout takes effect only if
// other tasks have abandoned the multifile.
constexpr int64_t seconds_to_wait = 30;
// Minimum wait for each multifile. It applies after an earlier multifile has used up the time.
constexpr milliseconds min_wait{500};
// Maximum number of names in a warning. Further names are only counted.
constexpr size_t max_names = 8;

// Outcome for a multifile that was left open.
enum class End : uint8_t { closed, recorded, unrecorded, unnamed, unsaved };

struct Forgotten {
  int sid;
  SionHandle* handle;
  std::string name;
  bool is_first;  // first task of its multifile, which warns
  End end = End::recorded;
  std::optional<Error> problem = std::nullopt;  // reason why not all data are in the files

  bool failed() const { return problem.has_value(); }
};

Forgotten describe(int sid, SionHandle& handle) {
  Comm* const comm = handle.comm();
  const End end = handle.closing.save           ? End::unsaved
                  : handle.closing.atomic       ? End::unnamed
                  : handle.opened.keeps_journal ? End::recorded
                                                : End::unrecorded;
  return {sid, &handle, handle.closing.atomic ? handle.closing.atomic->temporary : handle.writes->base_name(),
          !comm || comm->rank() == 0, end};
}

bool is_forgotten(const SionHandle* handle) {
  return handle && handle->writes && handle->opened.process == forks();
}

bool any_forgotten() {
  for (int sid = 0; sid < max_handles; ++sid)
    if (is_forgotten(find_handle(sid))) return true;
  return false;
}

std::vector<Forgotten> find_forgotten() {
  std::vector<Forgotten> found;
  for (int sid = 0; sid < max_handles; ++sid)
    if (SionHandle* const handle = find_handle(sid); is_forgotten(handle))
      found.push_back(describe(sid, *handle));
  return found;
}

void commit(const char* where, Forgotten& one) {
  SionHandle& handle = *one.handle;
  const CallScope scope;
  one.problem = attempt([&] {
    begin_call(handle);
    handle.settle();
    handle.writes->commit();
  });
  if (warnings_wait()) say_warnings(where, handle.task());
}

std::string list(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), max_names); ++i)
    text += (i > 0 ? ", '" : "'") + names[i] + "'";
  if (names.size() > max_names) text += " and " + std::to_string(names.size() - max_names) + " more";
  return text;
}

const char* words_for(End end) {
  switch (end) {
    case End::closed:
      return "all tasks had ended, so it is closed now";
    case End::recorded:
      return "what was written can be read, but the file counts as not closed ('sheaf repair' closes it)";
    case End::unrecorded:
      return "what was written is in the file, but without a journal only 'sheaf repair' finds it";
    case End::unnamed:
      return "what was written can be read under this name, and what 'atomic' was to replace is unchanged";
    case End::unsaved:
      return "nothing of it was saved, and what 'async' was to replace is unchanged";
  }
  return "";
}

// Prints one warning for all multifiles.
void tell(const char* where, const std::vector<Forgotten>& left) {
  std::map<End, std::vector<std::string>> names;
  for (const Forgotten& one : left) {
    if (one.problem)
      report(where,
             Error(one.problem->code(),
                   "'" + one.name +
                       "' was left open, and not all that was written to it could be brought into "
                       "the file: " +
                       one.problem->what(),
                   one.problem->errno_value()),
             one.handle->task(), 0);
    else if (one.is_first && std::ranges::find(names[one.end], one.name) == names[one.end].end())
      names[one.end].push_back(one.name);
  }
  std::string text;
  for (const auto& [end, files] : names)
    if (!files.empty()) text += (text.empty() ? "" : "; ") + list(files) + ": " + words_for(end);
  if (!text.empty()) warn(where, "the program has not closed " + text, 0);
}

void end_with_process() {
  std::vector<Forgotten> left = find_forgotten();
  for (Forgotten& one : left) {
    commit("exit", one);
    attempt([&] {
      one.handle->writes->own(nullptr);
      one.handle->closing.ownership.reset();
    });
  }
  std::erase_if(left, [](const Forgotten& one) { return one.handle->closing.told_forgotten; });
  tell("exit", left);
}

// Flushes on another thread, so that signal handlers of the program do not interrupt the flush. If the thread
// cannot be created, flushes on the calling thread.
void at_exit() {
  attempt([] { finish_saves_with_process("exit"); });
  if (!any_forgotten()) return;
  if (CallScope::any()) {
    attempt([] {
      warn("exit",
           "the program ended inside a call of this library: multifiles that are open are not flushed", -1);
    });
    return;
  }
  const auto work = [] {
    if (const auto problem = attempt(end_with_process)) report("exit", *problem, -1, 0);
  };
  if (attempt([&] { service_thread(work).join(); })) work();
}

// Handles of one multifile in this process: a single one, or those of all threads of a team.
using ForgottenGroup = std::vector<Forgotten>;

bool is_complete(const ForgottenGroup& group) {
  const auto team = group[0].handle->comm()->thread_team();
  return !team || std::ssize(group) == thread_team_size(*team);
}

// Returns the multifiles of tasks that can communicate until MPI ends; serial multifiles are excluded. The
// order is the same on all tasks, so that tasks with several multifiles wait for them in the same order.
std::vector<ForgottenGroup> parallel_groups() {
  std::vector<ForgottenGroup> groups;
  for (Forgotten& one : find_forgotten()) {
    Comm* const comm = one.handle->comm();
    if (!comm || one.handle->is_serial() || one.handle->closing.told_forgotten) continue;
    const auto team = comm->thread_team();
    const auto known = std::ranges::find_if(groups, [&](const ForgottenGroup& group) {
      return team && group[0].handle->comm()->thread_team() == team;
    });
    if (known == groups.end())
      groups.push_back({std::move(one)});
    else
      known->push_back(std::move(one));
  }
  std::ranges::stable_sort(groups, {}, [](const ForgottenGroup& group) { return group[0].name; });
  for (ForgottenGroup& group : groups)
    std::ranges::sort(group, {}, [](const Forgotten& one) { return one.handle->comm()->rank(); });
  return groups;
}

// Closes the group, with one thread for each handle of a team. Returns true if all closes succeeded. Failures
// are reported.
bool close_group(const ForgottenGroup& group) {
  std::vector<int> results(group.size(), 0);
  const auto close = [&](size_t i) { results[i] = close_parallel("MPI_Finalize", group[i].sid); };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < group.size(); ++i) threads.push_back(service_thread([&, i] { close(i); }));
  close(0);
  for (std::thread& thread : threads) thread.join();
  return std::ranges::all_of(results, [](int result) { return result == SION_SUCCESS; });
}

milliseconds wait_for_others() {
  return milliseconds(1000 * quiet_number_setting("SHEAF_FINALIZE_WAIT", 0, 86400).value_or(seconds_to_wait));
}

}  // namespace

void watch_exit() {
  static std::once_flag once;
  std::call_once(once, [] {
    forks();
    before_mpi_ends(end_with_mpi);
    std::atexit(at_exit);
  });
}

void end_with_mpi() {
  static constexpr const char* where = "MPI_Finalize";
  const Deadline deadline(wait_for_others());
  std::vector<Forgotten> left;
  for (ForgottenGroup& group : parallel_groups()) {
    SionHandle& first = *group[0].handle;
    for (Forgotten& one : group) commit(where, one);
    const bool named = !first.closing.atomic;
    const bool ready = named && is_complete(group) && std::ranges::none_of(group, &Forgotten::failed);
    const auto rest = std::chrono::duration_cast<milliseconds>(deadline.remaining());
    const Presence others = first.comm()->wait_for_all(ready, std::max(rest, min_wait));
    if (others == Presence::unknown) continue;  // until the process ends
    for (Forgotten& one : group) one.handle->closing.told_forgotten = true;
    if (others == Presence::all) {
      for (Forgotten& one : group) one.end = End::closed;
      if (!close_group(group)) continue;  // reported its failure
    }
    left.insert(left.end(), group.begin(), group.end());
  }
  tell(where, left);
  attempt([] { finish_saves_with_mpi(where); });
}

}  // namespace sheaf::api
