#include "multifile/reader/base_streams.hpp"

#include "multifile/metadata/task_rows.hpp"
#include "storage/store.hpp"

namespace sheaf::multifile {

BaseStreams::BaseStreams(Multifile multifile, TaskNames names)
    : multifile_(plain_view(std::move(multifile))), names_(std::move(names)) {
  for_each_row(multifile_, [&](int64_t, const TaskRow& row) { sizes_.push_back(row.sizes.total()); });
}

size_t BaseStreams::read(int64_t task, std::span<std::byte> data, int64_t offset) const {
  const std::lock_guard guard(mutex_);
  if (task != task_) {
    task_ = -1;
    row_ = multifile_.row(task);
    load_stream(stream_, multifile_, task, row_);
    task_ = task;
  }
  return stream_.seek_absolute(offset) ? stream_.read(data) : 0;
}

std::shared_ptr<const BaseStreams> BaseStreams::open(Store& store, const std::string& path,
                                                     Checking checking) {
  if (const FileStatus status = store.status(path); !status.exists || status.is_directory) return nullptr;
  Multifile multifile = load_multifile(store, path, checking);
  TaskNames names = read_task_names(multifile);
  if (names.names.empty() && names.taken.empty()) return nullptr;
  return std::make_shared<BaseStreams>(std::move(multifile), std::move(names));
}

}  // namespace sheaf::multifile
