// multifile/reader/base_streams: reads the tasks of a multifile with names (docs/format.md, section 14.5) as
// streams.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "format/container.hpp"
#include "multifile/metadata/physical_file.hpp"
#include "multifile/metadata/task_names.hpp"
#include "multifile/options/checking.hpp"
#include "multifile/stream/read_stream.hpp"
#include "storage/file.hpp"

namespace sheaf::multifile {

class BaseStreams {
 public:
  // Opens the multifile `path`. Returns null if there is no such file, or if the multifile has no names and
  // was not made of containers. Throws what reading a multifile throws.
  static std::shared_ptr<const BaseStreams> open(Store& store, const std::string& path,
                                                 Checking checking = Checking::on);
  BaseStreams(Multifile multifile, TaskNames names);  // called by open()

  const std::vector<format::TaskName>& names() const { return names_.names; }  // names in task order
  // Returns the identities of the containers that were merged into this multifile. It has all of their
  // contents.
  const std::vector<format::Identity>& taken() const { return names_.taken; }
  int64_t size(int64_t task) const { return sizes_[static_cast<size_t>(task)]; }  // bytes
  uint64_t origin() const {  // short form of the multifile's identity
    return format::short_identity(multifile_.files.front().extension->identity);
  }
  // Reads from `offset` of the task's stream. Returns the number of bytes read, fewer only at the end of the
  // task. Thread-safe.
  size_t read(int64_t task, std::span<std::byte> data, int64_t offset) const;

 private:
  const Multifile multifile_;
  const TaskNames names_;
  std::vector<int64_t> sizes_;
  mutable std::mutex mutex_;  // guards the following members: the task read last
  mutable int64_t task_ = -1;
  mutable TaskRow row_;
  mutable ReadStream stream_;
};

}  // namespace sheaf::multifile
