// set/serial_reader: a multifile read by one process; all tasks (global view) or one (local view).
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/export.hpp"
#include "metadata/facts.hpp"
#include "metadata/parallel_open.hpp"
#include "metadata/physical_file.hpp"
#include "metadata/task_rows.hpp"
#include "mode/open_mode.hpp"
#include "stream/plain_file.hpp"
#include "stream/read_stream.hpp"

namespace sheaf {

// Global view: every task, one of them current. Task 0 at its first byte after opening.
class SerialReader {
 public:
  SerialReader(Store& store, const std::string& path, const OpenMode& mode);
  SerialReader(const SerialReader&) = delete;
  SerialReader& operator=(const SerialReader&) = delete;

  const Multifile& multifile() const { return multifile_; }
  int64_t ntasks() const { return multifile_.ntasks(); }

  FileFacts facts() const;
  int64_t task() const { return task_; }  // the current one
  // Makes another task current, where it was left. Throws out_of_range.
  void select(int64_t task);
  ReadStream& stream() { return stream_; }
  ReadPosition position_of(int64_t task);

 private:
  size_t file_index() const { return static_cast<size_t>(row_.place.file); }

  void load(const ReadPosition& position);
  ReadPosition parked(int64_t task) const;

  Multifile multifile_;
  TaskRows rows_;
  TaskRow row_;  // of the current task
  ReadStream stream_;
  std::unordered_map<int64_t, ReadPosition> positions_;  // of tasks that were left, but for the current one
  // What the program shares of each physical file; the entry of the current one is in the stream. Once the
  // program has one, every task that becomes current gets one.
  std::vector<std::unique_ptr<StdioHandle>> handles_;
  int64_t task_ = 0;
};

// Local view: one task, found without loading what belongs to the others.
class SHEAF_EXPORT TaskReader {
 public:
  // `task` counts over the whole set. Throws out_of_range if the multifile has no such task.
  TaskReader(Store& store, const std::string& path, int64_t task, const OpenMode& mode);

  const format::Header& header() const { return header_; }
  const std::string& path() const { return stream_.file().path(); }
  FileFacts facts() const {
    FileFacts facts = facts_of(header_);
    facts.unclosed = unclosed_;
    return facts;
  }
  int64_t task() const { return task_; }
  int64_t ntasks() const { return ntasks_; }  // of the whole multifile
  void select(int64_t task) const { check_own_task(task, task_, path()); }
  int64_t local_rank() const { return local_rank_; }
  int64_t globalrank() const { return globalrank_; }
  ReadStream& stream() { return stream_; }
  File& file() { return stream_.file(); }  // the physical file that holds the task

 private:
  int64_t task_;
  int64_t local_rank_ = 0;
  int64_t ntasks_ = 0;
  int64_t globalrank_ = 0;
  bool unclosed_ = false;
  format::Header header_;
  BlocksOfTask blocks_;  // as they are stored
  ReadStream stream_;
};

}  // namespace sheaf
