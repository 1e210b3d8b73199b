// streams/mount/multifile_streams: shows each task of a multifile as a file. The name is the task's name if
// tasks have names (docs/format.md, section 14.5), otherwise "task.000017" with at least six digits. The
// content of a file is what the task has written, uncompressed. In a key-value multifile, this includes the
// headers of the records.
#pragma once

#include <mutex>

#include "format/container.hpp"
#include "multifile/metadata/task_rows.hpp"
#include "streams/mount/streams.hpp"

namespace sheaf::mount {

class MultifileStreams final : public Streams {
 public:
  // `names`: the names of all tasks; empty if tasks have no names.
  MultifileStreams(multifile::Multifile multifile, std::vector<format::TaskName> names);

  int64_t count() const override { return multifile_.ntasks(); }
  int64_t bytes() const override;
  std::string name(int64_t task) const override;
  bool computes_names() const override { return names_.empty(); }
  std::optional<int64_t> find(std::string_view name) const override;
  StreamFacts facts(int64_t task) override;
  bool knows_sizes() const override { return !compressed_; }
  std::unique_ptr<ReadableStream> open(int64_t task) override;
  void read_ahead(NearbyReads& reads) override;
  Attributes attributes(int64_t task) override;
  Attributes attributes() override;

 private:
  multifile::TaskRow row(int64_t task);

  multifile::Multifile multifile_;
  std::vector<format::TaskName> names_;
  bool compressed_;
  int digits_;
  std::mutex mutex_;  // guards rows_
  multifile::TaskRows rows_;
};

}  // namespace sheaf::mount
