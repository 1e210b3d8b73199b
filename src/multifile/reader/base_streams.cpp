#include "multifile/reader/base_streams.hpp"

#include <mutex>
#include <optional>

#include "multifile/metadata/physical_file.hpp"
#include "multifile/metadata/task_names.hpp"
#include "multifile/metadata/task_rows.hpp"
#include "multifile/stream/read_stream.hpp"
#include "storage/store.hpp"

namespace sheaf::multifile {

namespace {

class MultifileStreams final : public BaseStreams {
 public:
  MultifileStreams(Multifile multifile, TaskNames names)
      : multifile_(multifile.compressed() ? plain_view(std::move(multifile)) : std::move(multifile)),
        names_(std::move(names)) {
    TaskRows rows(multifile_);
    for (int64_t task = 0; task < multifile_.ntasks(); ++task) sizes_.push_back(rows.at(task).sizes.total());
  }

  const std::vector<format::TaskName>& names() const override { return names_.names; }
  const std::vector<format::Identity>& taken() const override { return names_.taken; }
  int64_t size(int64_t task) const override { return sizes_[static_cast<size_t>(task)]; }
  uint64_t origin() const override {
    return format::short_identity(multifile_.files.front().extension->identity);
  }

  size_t read(int64_t task, std::span<std::byte> data, int64_t offset) const override {
    const std::lock_guard guard(mutex_);
    if (task != task_) {
      task_ = -1;
      row_ = multifile_.row(task);
      load_stream(stream_, multifile_, task, row_);
      task_ = task;
    }
    return stream_.seek_absolute(offset) ? stream_.read(data) : 0;
  }

 private:
  const Multifile multifile_;
  const TaskNames names_;
  std::vector<int64_t> sizes_;
  mutable std::mutex mutex_;  // guards the following members: the task read last
  mutable int64_t task_ = -1;
  mutable TaskRow row_;
  mutable ReadStream stream_;
};

}  // namespace

std::shared_ptr<const BaseStreams> BaseStreams::open(Store& store, const std::string& path,
                                                     Checking checking) {
  if (const FileStatus status = store.status(path); !status.exists || status.is_directory) return nullptr;
  Multifile multifile = load_multifile(store, path, checking);
  TaskNames names = read_task_names(multifile);
  if (names.names.empty() && names.taken.empty()) return nullptr;
  return std::make_shared<MultifileStreams>(std::move(multifile), std::move(names));
}

}  // namespace sheaf::multifile
