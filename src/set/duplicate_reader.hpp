// set/duplicate_reader: a second reader of tasks that a parallel or mapped reader has open, with positions of
// its own. Made and released locally. Shares the open physical files, so it is released before the original
// is closed; what it knows of the tasks is a copy.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "metadata/facts.hpp"
#include "stream/read_stream.hpp"

namespace sheaf {

// A task as a reader has it open.
struct OpenTask {
  int64_t task = 0;
  FileFacts facts;
  std::shared_ptr<File> file;
  layout::ChunkGeometry geometry;
  std::vector<int64_t> block_sizes;
  ReadPosition position;
  SumsPlace sums = {};
};

class DuplicateReader {
 public:
  // `tasks` stand where they are given to stand; `current` becomes the current one. ntasks: of the whole
  // multifile.
  DuplicateReader(std::vector<OpenTask> tasks, size_t current, int64_t ntasks, int64_t max_buffer);

  int64_t ntasks() const { return ntasks_; }
  int64_t task() const { return tasks_.empty() ? -1 : tasks_[current_].task; }
  void select(int64_t task);  // throws out_of_range for a task that was not duplicated
  FileFacts facts() const { return tasks_.empty() ? FileFacts{} : tasks_[current_].facts; }
  const std::string& path() const { return stream_.file().path(); }
  ReadStream& stream() { return stream_; }

  // Releases what the program shares. Throws; the object is released all the same.
  void close();

 private:
  void load();

  std::vector<OpenTask> tasks_;
  std::map<int32_t, std::unique_ptr<StdioHandle>> handles_;  // parked, by number of the physical file
  size_t current_;
  int64_t ntasks_;
  ReadStream stream_;
};

}  // namespace sheaf
