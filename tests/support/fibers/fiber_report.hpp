// support/fibers/fiber_report: texts about a run of fibers and its deadlocks. Private to fiber_comm.cpp.
#pragma once

#include <algorithm>
#include <exception>
#include <string>
#include <vector>

#include "support/fibers/fiber_comm.hpp"
#include "support/fibers/fiber_scheduler.hpp"

namespace sheaf::fibers {

// Returns, for instance, "tasks 0-3 in barrier, task 4 in gather": at most the first dozen ranges of tasks.
inline std::string who_waits(const std::vector<FiberTask>& tasks) {
  std::string text;
  int runs = 0;
  for (size_t from = 0; from < tasks.size();) {
    size_t end = from + 1;
    if (tasks[from].waits_for) {
      while (end < tasks.size() && tasks[end].waits_for && tasks[end].operation == tasks[from].operation)
        ++end;
      if (++runs > 12) return text + " and others";
      text += runs > 1 ? ", " : "";
      text += end - from == 1 ? "task " + std::to_string(from)
                              : "tasks " + std::to_string(from) + "-" + std::to_string(end - 1);
      text += " in " + std::string(tasks[from].operation);
    }
    from = end;
  }
  return text;
}

// Returns "; before that, task 3: <what>" for the lowest task with an exception.
inline std::string who_threw(const std::vector<std::exception_ptr>& outcomes) {
  const auto first = std::ranges::find_if(outcomes, [](const std::exception_ptr& e) { return e != nullptr; });
  if (first == outcomes.end()) return "";
  std::string text = "; before that, task " + std::to_string(first - outcomes.begin()) + " threw";
  try {
    std::rethrow_exception(*first);
  } catch (const std::exception& error) {
    return text + ": " + error.what();
  } catch (...) {
    return text;
  }
}

// Returns the switches, stacks and traffic of a run.
inline FiberReport report_of(const Scheduler& scheduler) {
  FiberReport report;
  report.switches = scheduler.switches();
  report.stack_bytes = scheduler.stack_bytes();
  for (const FiberTask& task : scheduler.tasks()) {
    report.traffic.collectives = std::max(report.traffic.collectives, task.traffic.collectives);
    report.traffic.steps = std::max(report.traffic.steps, task.traffic.steps);
    report.traffic.bytes = std::max(report.traffic.bytes, task.traffic.bytes);
  }
  return report;
}

}  // namespace sheaf::fibers
