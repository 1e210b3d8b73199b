// sheaf/multifile: multifiles in serial programs.
//
//   sheaf::MultifileWriter out("data.sion", {{.chunk_size = 1000}, {.chunk_size = 2000}});
//   out.select(1);
//   out.write(std::vector<double>{1, 2, 3});
//   out.close();
//
//   sheaf::MultifileReader in("data.sion");
//   in.select(1);
//   const std::vector<double> values = in.rest<double>();
#pragma once

#include <cstdlib>

#include "../sion_serial.h"
#include "stream.hpp"

namespace sheaf {
inline namespace v1 {

struct Task {
  std::int64_t chunk_size = 0;  // bytes, before rounding up to the block size of the file system
  int global_rank = -1;         // number stored with the task; -1 selects the index of the task
};

// Creates a multifile and writes to its tasks in any order. Initially selects task 0. Methods throw
// sheaf::Error on failure.
class MultifileWriter : public OutputStream {
 public:
  // Creates `path` with one task for each entry of `tasks`. `block_size` is in bytes; -1 selects that of the
  // file system. `words` adds words to the open mode, for example "posix,durable" (docs/api-sion.md).
  MultifileWriter(const std::string& path, const std::vector<Task>& tasks, int block_size = -1,
                  const std::string& words = "")
      : OutputStream(open(path, tasks, block_size, words)), tasks_(static_cast<int>(tasks.size())) {}

  // Returns the number of tasks.
  int tasks() const { return tasks_; }
  // Makes `task` the target of the following writes.
  void select(int task) {
    detail::require(sion_seek(handle(), task, SION_CURRENT_BLK, SION_CURRENT_POS) == SION_SUCCESS);
  }

 private:
  static detail::Handle open(std::string path, const std::vector<Task>& tasks, int block_size,
                             const std::string& words) {
    if (tasks.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
      throw Error("too many tasks");
    int ntasks = static_cast<int>(tasks.size());
    int nfiles = 1;
    std::vector<sion_int64> sizes(tasks.size() + 1);
    std::vector<int> ranks(tasks.size() + 1);
    for (std::size_t t = 0; t < tasks.size(); ++t) {
      sizes[t] = tasks[t].chunk_size;
      ranks[t] = tasks[t].global_rank >= 0 ? tasks[t].global_rank : static_cast<int>(t);
    }
    sion_int64* chunksizes = sizes.data();
    int* globalranks = ranks.data();
    const std::string mode = detail::mode("wb", words);
    return {sion_open(path.data(), mode.c_str(), &ntasks, &nfiles, &chunksizes, &block_size, &globalranks,
                      nullptr),
            sion_close, false};
  }

  int tasks_;
};

// Reads all tasks of a multifile, one at a time. Initially selects task 0. Methods throw sheaf::Error on
// failure.
class MultifileReader : public InputStream {
 public:
  explicit MultifileReader(const std::string& path, const std::string& words = "")
      : MultifileReader(path, words, Facts()) {}

  // Return the number of tasks, the properties of task `t`, and the block size in bytes.
  int tasks() const { return static_cast<int>(facts_.tasks.size()); }
  const Task& task(int t) const { return facts_.tasks.at(static_cast<std::size_t>(t)); }
  int block_size() const { return facts_.block_size; }

  // Moves to byte `position` of block `block` of `task`.
  void select(int task, int block = 0, std::int64_t position = 0) {
    detail::require(sion_seek(handle(), task, block, position) == SION_SUCCESS);
  }

 private:
  struct Facts {
    std::vector<Task> tasks;
    int block_size = 0;
  };

  MultifileReader(const std::string& path, const std::string& words, Facts facts)
      : InputStream(open(path, words, facts)), facts_(std::move(facts)) {}

  static detail::Handle open(std::string path, const std::string& words, Facts& facts) {
    int ntasks = 0;
    int nfiles = 0;
    sion_int64* chunksizes = nullptr;
    int* globalranks = nullptr;
    const std::string mode = detail::mode("rb", words);
    detail::Handle handle(sion_open(path.data(), mode.c_str(), &ntasks, &nfiles, &chunksizes,
                                    &facts.block_size, &globalranks, nullptr),
                          sion_close, false);
    for (int t = 0; t < ntasks; ++t) facts.tasks.push_back({chunksizes[t], globalranks[t]});
    std::free(chunksizes);
    std::free(globalranks);
    return handle;
  }

  Facts facts_;
};

// Reads one task of a multifile. Reads only the metadata of this task, so several processes can open the file
// independently.
class TaskReader : public InputStream {
 public:
  TaskReader(const std::string& path, int task, const std::string& words = "")
      : TaskReader(path, task, words, 0, 0) {}

  // Return the chunk size of the task and the block size of the multifile, in bytes.
  std::int64_t chunk_size() const { return chunk_size_; }
  int block_size() const { return block_size_; }

 private:
  TaskReader(std::string path, int task, const std::string& words, sion_int64 chunk_size, int block_size)
      : InputStream({sion_open_rank(path.data(), detail::mode("rb", words).c_str(), &chunk_size, &block_size,
                                    &task, nullptr),
                     sion_close, false}),
        chunk_size_(chunk_size),
        block_size_(block_size) {}

  std::int64_t chunk_size_;
  int block_size_;
};

}  // namespace v1
}  // namespace sheaf
