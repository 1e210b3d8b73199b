#include "set/duplicate_reader.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace sheaf {

DuplicateReader::DuplicateReader(std::vector<OpenTask> tasks, size_t current, int64_t ntasks,
                                 int64_t max_buffer)
    : tasks_(std::move(tasks)), current_(current), ntasks_(ntasks) {
  if (tasks_.empty()) throw Error(Code::out_of_range, "there is no task to duplicate");
  stream_.set_max_buffer(max_buffer);
  load();
}

void DuplicateReader::load() {
  const OpenTask& t = tasks_[current_];
  stream_.load(t.file, t.geometry, {t.block_sizes.data(), 1, static_cast<int32_t>(t.block_sizes.size())},
               t.position, t.sums);
}

void DuplicateReader::select(int64_t task_number) {
  const auto found = std::ranges::find(tasks_, task_number, &OpenTask::task);
  if (found == tasks_.end())
    throw Error(Code::out_of_range,
                "'" + path() + "': this duplicate gives no access to task " + std::to_string(task_number));
  const auto next = static_cast<size_t>(found - tasks_.begin());
  if (next == current_) return;
  const int32_t from = tasks_[current_].facts.filenumber;
  const int32_t to = found->facts.filenumber;
  tasks_[current_].position = stream_.park();
  current_ = next;
  if (from == to) return load();
  auto shared = stream_.release_handle();
  const bool with_stream = shared && shared->stream();
  load();
  if (!shared) return;
  handles_[from] = std::move(shared);
  if (auto& own = handles_[to]) {
    stream_.attach(std::move(own));
  } else {
    stream_.share(with_stream);
  }
}

void DuplicateReader::close() {
  if (const auto handle = stream_.release_handle()) handle->close();
  for (const auto& [number, handle] : handles_)
    if (handle) handle->close();
}

}  // namespace sheaf
