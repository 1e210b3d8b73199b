#include "multifile/tools/split.hpp"

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "multifile/create/copy_stream.hpp"
#include "multifile/create/output_set.hpp"
#include "multifile/create/work_threads.hpp"
#include "multifile/keyval/keyval_check.hpp"
#include "multifile/metadata/task_rows.hpp"
#include "multifile/tools/split_keyval.hpp"

namespace sheaf::multifile {

namespace {

// Returns the tasks to write, in order.
std::vector<int64_t> chosen_tasks(const Multifile& m, const SplitRequest& request) {
  std::vector<int64_t> tasks = request.tasks;
  if (tasks.empty()) {
    tasks.resize(static_cast<size_t>(m.ntasks()));
    std::iota(tasks.begin(), tasks.end(), 0);
    return tasks;
  }
  std::ranges::sort(tasks);
  tasks.erase(std::ranges::unique(tasks).begin(), tasks.end());
  for (const int64_t task : tasks)
    if (task < 0 || task >= m.ntasks())
      throw Error(Code::out_of_range, "'" + m.path + "': there is no task " + std::to_string(task) +
                                          "; the multifile holds tasks 0 to " +
                                          std::to_string(m.ntasks() - 1));
  return tasks;
}

void check_global_ranks(const Multifile& m, const std::vector<int64_t>& tasks) {
  using Ranked = std::pair<int64_t, int64_t>;  // global rank, task
  std::vector<Ranked> all;
  TaskRows rows(m);
  for (const int64_t task : tasks) all.emplace_back(rows.at(task).globalrank, task);
  std::ranges::sort(all);
  const auto same = std::ranges::adjacent_find(all, {}, &Ranked::first);
  if (same == all.end()) return;
  throw Error(Code::invalid_argument, "'" + m.path + "': tasks " + std::to_string(same->second) + " and " +
                                          std::to_string(same[1].second) + " have the same global rank " +
                                          std::to_string(same->first) +
                                          " and would share a file; split without -g");
}

void split_plain(const PhysicalFile& file, const TaskRow& row, File& output, WorkProgress& progress) {
  int64_t length = 0;
  if (row.sums.piece > 0) {
    length = copy_stream(file, row, output, 0, progress);
  } else {
    RangeCopier copier(output, progress, 0);
    length = copier.add_stream(file, row, 0);
    copier.finish();
  }
  close_output(output, length);
}

// Uses several threads, because creating the files takes most of the time. The outputs are created in task
// order.
void split_plain(const Multifile& m, const std::vector<int64_t>& tasks, const SplitRequest& request,
                 OutputSet& outputs, WorkProgress& progress) {
  struct Begun {
    std::shared_ptr<File> output;
    TaskRow row;
  };
  TaskRows rows(m);
  on_threads(
      std::ssize(tasks), progress,
      [&](int64_t i) {
        const int64_t task = tasks[static_cast<size_t>(i)];
        const TaskRow& row = rows.at(task);
        const std::string name = split_name(request, task, row);
        progress.begin_output(task, name);
        return Begun{outputs.add(name), row};
      },
      [&](int64_t, const Begun& begun, WorkProgress& shared) {
        split_plain(m.file_of(begun.row), begun.row, *begun.output, shared);
      });
}

}  // namespace

static std::string with_digits(int digits, int64_t number) {
  char text[288];
  std::snprintf(text, sizeof text, "%0*lld", digits, static_cast<long long>(number));
  return text;
}

std::string split_name(const SplitRequest& request, int64_t task, const TaskRow& row) {
  return request.prefix +
         with_digits(std::clamp(request.digits, 1, 255), request.global_ranks ? row.globalrank : task);
}

std::string split_name(const std::string& name_of_task, uint64_t key) {
  return name_of_task + "_" + with_digits(12, static_cast<int64_t>(key));
}

void split(Store& store, const Multifile& given, const SplitRequest& request, WorkProgress& progress) {
  const std::optional<Multifile> plain = given.compressed() ? std::optional(plain_view(given)) : std::nullopt;
  const Multifile& m = plain ? *plain : given;
  const std::vector<int64_t> tasks = chosen_tasks(m, request);
  if (request.global_ranks) check_global_ranks(m, tasks);
  OutputSet outputs(store, request.replace ? OutputSet::Existing::replaced : OutputSet::Existing::refused,
                    OutputSet::Naming::derived);
  const bool keyval = has_records(m);
  int64_t total = 0;
  TaskRows rows(m);
  for (const int64_t task : tasks) {
    const TaskRow& row = rows.at(task);
    total += row.sizes.total();
    if (!keyval) outputs.check(split_name(request, task, row));  // the names for keys are not known yet
  }
  progress.begin(total);

  if (keyval) {
    for (const int64_t task : tasks) {
      const TaskRow& row = rows.at(task);
      split_keyval(m.file_of(row), task, row, split_name(request, task, row), outputs, progress);
    }
  } else {
    split_plain(m, tasks, request, outputs, progress);
  }
  require_unchanged(given);
  outputs.commit();
}

}  // namespace sheaf::multifile
