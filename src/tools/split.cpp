#include "tools/split.hpp"

#include <algorithm>
#include <cstdio>

#include "creation/copy_stream.hpp"
#include "creation/output_set.hpp"
#include "creation/work_threads.hpp"
#include "keyval/keyval_check.hpp"
#include "metadata/task_rows.hpp"
#include "tools/split_keyval.hpp"

namespace sheaf {

namespace {

// Those that are wanted, in order; all need no list.
class ChosenTasks {
 public:
  ChosenTasks(const Multifile& m, const SplitRequest& request) : tasks_(request.tasks), count_(m.ntasks()) {
    if (tasks_.empty()) return;
    std::ranges::sort(tasks_);
    tasks_.erase(std::ranges::unique(tasks_).begin(), tasks_.end());
    count_ = std::ssize(tasks_);
    for (const int64_t task : tasks_)
      if (task < 0 || task >= m.ntasks())
        throw Error(Code::out_of_range, "'" + m.path + "': there is no task " + std::to_string(task) +
                                            "; the multifile holds tasks 0 to " +
                                            std::to_string(m.ntasks() - 1));
  }
  int64_t size() const { return count_; }
  int64_t operator[](int64_t i) const { return tasks_.empty() ? i : tasks_[static_cast<size_t>(i)]; }

 private:
  std::vector<int64_t> tasks_;
  int64_t count_;
};

void check_global_ranks(const Multifile& m, const ChosenTasks& tasks) {
  using Ranked = std::pair<int64_t, int64_t>;  // global rank, task
  std::vector<Ranked> all;
  TaskRows rows(m);
  for (int64_t i = 0; i < tasks.size(); ++i) all.emplace_back(rows.at(tasks[i]).globalrank, tasks[i]);
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

// Several threads, since most of the time goes into creating the files. Outputs begin in the order of the
// tasks.
void split_plain(const Multifile& m, const ChosenTasks& tasks, const SplitRequest& request,
                 OutputSet& outputs, WorkProgress& progress) {
  struct Begun {
    std::shared_ptr<File> output;
    TaskRow row;
  };
  TaskRows rows(m);
  on_threads(
      tasks.size(), progress,
      [&](int64_t i) {
        const TaskRow& row = rows.at(tasks[i]);
        const std::string name = split_name(request, tasks[i], row);
        progress.begin_output(tasks[i], name);
        return Begun{outputs.add(name), row};
      },
      [&](int64_t, const Begun& begun, WorkProgress& shared) {
        split_plain(m.file_of(begun.row), begun.row, *begun.output, shared);
      });
}

}  // namespace

std::string split_name(const SplitRequest& request, int64_t task, const TaskRow& row) {
  char number[288];
  std::snprintf(number, sizeof number, "%0*lld", std::clamp(request.digits, 1, 255),
                static_cast<long long>(request.global_ranks ? row.globalrank : task));
  return request.prefix + number;
}

std::string split_name(const std::string& name_of_task, uint64_t key) {
  char number[32];
  std::snprintf(number, sizeof number, "_%012lld", static_cast<long long>(key));
  return name_of_task + number;
}

void split(Store& store, const Multifile& given, const SplitRequest& request, WorkProgress& progress) {
  const std::optional<Multifile> plain = given.compressed() ? std::optional(plain_view(given)) : std::nullopt;
  const Multifile& m = plain ? *plain : given;
  const ChosenTasks tasks(m, request);
  if (request.global_ranks) check_global_ranks(m, tasks);
  OutputSet outputs(store, request.replace ? OutputSet::Existing::replace : OutputSet::Existing::refuse);
  const bool keyval = has_records(m);
  int64_t total = 0;
  TaskRows rows(m);
  for (int64_t i = 0; i < tasks.size(); ++i) {
    const TaskRow& row = rows.at(tasks[i]);
    total += row.sizes.total();
    if (!keyval) outputs.check(split_name(request, tasks[i], row));  // the names of keys are not known yet
  }
  progress.begin(total);

  if (keyval) {
    TaskRows again(m);
    for (int64_t i = 0; i < tasks.size(); ++i) {
      const TaskRow& row = again.at(tasks[i]);
      split_keyval(m.file_of(row), tasks[i], row, split_name(request, tasks[i], row), outputs, progress);
    }
  } else {
    split_plain(m, tasks, request, outputs, progress);
  }
  outputs.commit();
}

}  // namespace sheaf
