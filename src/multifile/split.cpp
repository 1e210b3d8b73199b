#include "multifile/split.hpp"

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "multifile/copy_stream.hpp"
#include "multifile/keyval_check.hpp"
#include "multifile/output_set.hpp"
#include "multifile/split_keyval.hpp"
#include "multifile/work_threads.hpp"

namespace sheaf {

namespace {

std::vector<int64_t> chosen_tasks(const Multifile& m, const SplitRequest& request) {
  std::vector<int64_t> tasks = request.tasks;
  if (tasks.empty()) {
    tasks.resize(static_cast<size_t>(m.ntasks()));
    std::iota(tasks.begin(), tasks.end(), int64_t{0});
    return tasks;
  }
  std::sort(tasks.begin(), tasks.end());
  tasks.erase(std::unique(tasks.begin(), tasks.end()), tasks.end());
  for (const int64_t task : tasks)
    if (task < 0 || task >= m.ntasks())
      throw Error(Code::out_of_range, "'" + m.path + "': there is no task " + std::to_string(task) +
                                          "; the multifile holds tasks 0 to " +
                                          std::to_string(m.ntasks() - 1));
  return tasks;
}

void check_global_ranks(const Multifile& m, std::vector<int64_t> tasks) {
  const auto by_rank = [&](int64_t a, int64_t b) { return m.globalrank(a) < m.globalrank(b); };
  std::stable_sort(tasks.begin(), tasks.end(), by_rank);
  for (size_t i = 1; i < tasks.size(); ++i)
    if (m.globalrank(tasks[i]) == m.globalrank(tasks[i - 1]))
      throw Error(Code::invalid_argument,
                  "'" + m.path + "': tasks " + std::to_string(tasks[i - 1]) + " and " +
                      std::to_string(tasks[i]) + " have the same global rank " +
                      std::to_string(m.globalrank(tasks[i])) + " and would share a file; split without -g");
}

void split_plain(const Multifile& m, int64_t task, File& output, WorkProgress& progress) {
  int64_t length = 0;
  if (m.sums_of(task).piece > 0) {
    length = copy_stream(m, task, output, 0, progress);
  } else {
    RangeCopier copier(output, progress, 0);
    length = copier.add_stream(m, task, 0);
    copier.finish();
  }
  if (length > 0 && output.status().size < length) output.resize(length);  // it ends in a hole
  output.close();
}

// Several threads, since most of the time goes into creating the files. Outputs begin in the order of the
// tasks.
void split_plain(const Multifile& m, const std::vector<int64_t>& tasks, const SplitRequest& request,
                 OutputSet& outputs, WorkProgress& progress) {
  on_threads(
      std::ssize(tasks), progress,
      [&](int64_t i) {
        const int64_t task = tasks[static_cast<size_t>(i)];
        const std::string name = split_name(request, m, task);
        progress.begin_output(task, name);
        return outputs.add(name);
      },
      [&](int64_t i, std::shared_ptr<File> output, WorkProgress& shared) {
        split_plain(m, tasks[static_cast<size_t>(i)], *output, shared);
      });
}

}  // namespace

std::string split_name(const SplitRequest& request, const Multifile& multifile, int64_t task) {
  char number[288];
  std::snprintf(number, sizeof number, "%0*lld", std::clamp(request.digits, 1, 255),
                static_cast<long long>(request.global_ranks ? multifile.globalrank(task) : task));
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
  const std::vector<int64_t> tasks = chosen_tasks(m, request);
  if (request.global_ranks) check_global_ranks(m, tasks);
  OutputSet outputs(store, request.replace ? OutputSet::Existing::replace : OutputSet::Existing::refuse);
  int64_t total = 0;
  for (const int64_t task : tasks) total += m.sizes_of(task).total();
  progress.begin(total);

  const bool keyval = has_records(m);
  if (!keyval)  // the names of keys are not known yet
    for (const int64_t task : tasks) outputs.check(split_name(request, m, task));
  if (keyval) {
    for (const int64_t task : tasks) split_keyval(m, task, split_name(request, m, task), outputs, progress);
  } else {
    split_plain(m, tasks, request, outputs, progress);
  }
  outputs.commit();
}

}  // namespace sheaf
