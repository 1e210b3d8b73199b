// stream/overruns: what a program has written behind its chunk through its own stream or descriptor.
//
// Nobody can keep it from doing so: the stream is a real one, and behind a chunk lie those of other tasks.
// The library learns of it at its next call for the task (WriteStream) and moves these bytes, the tail, to
// further chunks of the task. What it cannot see is what the other tasks have written there, before and
// since. The close looks at that, and succeeds only if no byte of anybody can be missing. Offsets and sizes
// in bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "comm/comm.hpp"
#include "stream/task_blocks.hpp"

namespace sheaf {

// Copies the `bytes` bytes behind chunk `chunk` to the beginnings of the chunks that follow it. A file of one
// task has them there already. Throws io also if somebody writes there meanwhile; then a part of them may be
// in neither place. geometry.size > 0.
void move_tail(File& file, const layout::ChunkGeometry& geometry, int64_t chunk, int64_t bytes);

// A task as far as it concerns the others of its file.
struct WrittenTask {
  int64_t task;  // as the program calls it
  int32_t file = 0;
  const layout::ChunkGeometry& geometry;
  const TaskBlocks& blocks;
  std::span<const uint32_t> sums = {};  // in the close: what blocks.take_sums() has given
};

// Closing: throws if bytes that the task wrote behind a chunk could not be moved.
void require_tails(const WrittenTask& written, const std::string& path);

// Tasks that one process writes in turn: what they write over each other is known when it happens.
class OwnOverruns {
 public:
  // When a task is parked that has news (TaskBlocks::new_overruns), with each other task of its file:
  // remembers which bytes of that are gone.
  void look(const WrittenTask& parked, const WrittenTask& other);
  // Closing, with every task: throws unless the bytes in question are in the file all the same, as their
  // checksums say.
  void check(File& file, const WrittenTask& written) const;

 private:
  struct Hit {
    int64_t by, task;
    TaskBlocks::Overrun overrun;
    int64_t offset;              // of the overrun
    int64_t block, from, until;  // bytes of a block of `task`
  };
  std::vector<Hit> hits_;
};

// Closing, when all bytes are in the files. Collective over processes that write `mine`, in turn; open()
// gives a file to read. Returns why bytes may be missing where tasks of two processes have written to the
// same place; to be agreed on.
std::optional<Error> check_neighbours(Comm& comm, std::span<const WrittenTask> mine,
                                      const std::function<std::shared_ptr<File>(int32_t file)>& open);

}  // namespace sheaf
