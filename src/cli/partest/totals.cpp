#include <algorithm>

#include "cli/partest/report.hpp"

namespace sheaf::partest {

Totals totals_of(const std::vector<TaskMeasurements>& tasks) {
  Totals totals{.tasks = std::ssize(tasks)};
  for (const TaskMeasurements& r : tasks) {
    totals.bytes += r.bytes;
    totals.chunks += r.chunks;
  }
  if (tasks.empty()) return totals;
  for (size_t s = 0; s < step_count; ++s) {
    int64_t begin = INT64_MAX;
    int64_t first_end = INT64_MAX;
    int64_t last_end = INT64_MIN;
    int64_t wait = 0;
    for (const TaskMeasurements& r : tasks) {
      begin = std::min(begin, r.begin[s]);
      first_end = std::min(first_end, r.begin[s] + r.time[s]);
      last_end = std::max(last_end, r.begin[s] + r.time[s]);
      wait = std::max(wait, r.barrier[s]);
    }
    totals.time[s] = 1e-9 * static_cast<double>(last_end - begin);
    totals.spread[s] = 1e-9 * static_cast<double>(last_end - first_end);
    totals.barrier[s] = 1e-9 * static_cast<double>(wait);
  }
  return totals;
}

std::vector<TaskMeasurements> of_file(const Phase& phase, int64_t file) {
  std::vector<TaskMeasurements> tasks;
  std::copy_if(phase.tasks.begin(), phase.tasks.end(), std::back_inserter(tasks),
               [file](const TaskMeasurements& r) { return r.file == file; });
  return tasks;
}

double mebibytes_per_second(int64_t bytes, double seconds) {
  return seconds > 0 ? static_cast<double>(bytes) / seconds / (1 << 20) : 0;
}

}  // namespace sheaf::partest
