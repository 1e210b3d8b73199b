// multifile/stream/overruns: handles bytes that a program has written beyond its chunk through its own stream
// or descriptor.
//
// The library cannot prevent this: the program has a real stream, and the chunks of other tasks follow its
// chunk. The library detects it at its next call for the task (ChunkWriter::learn) and moves these bytes, the
// tail, to further chunks of the task. It cannot see what other tasks have written there before or since. The
// close checks that, and succeeds only if no task can have lost a byte. Offsets and sizes in bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "comm/comm.hpp"
#include "multifile/stream/task_blocks.hpp"

namespace sheaf::multifile {

// Copies the `bytes` bytes after chunk `chunk` to the beginnings of the chunks that follow it. In a file with
// one task they are already in place. Throws io also if another task writes to the source during the copy;
// some bytes may then be lost. Requires geometry.size > 0.
void move_tail(File& file, const layout::ChunkGeometry& geometry, int64_t chunk, int64_t bytes);

// The blocks of a task, for comparison with the other tasks of its file.
struct WrittenTask {
  int64_t task;  // number of the task in messages to the program
  int32_t file = 0;
  const layout::ChunkGeometry& geometry;
  const TaskBlocks& blocks;
  std::span<const uint32_t> sums = {};  // at close: result of blocks.take_sums()
};

// Extent of one block of a task.
struct BlockExtent {
  int64_t block, from, until;
};

// Throws at close if bytes that the task wrote beyond a chunk could not be moved.
void require_tails(const WrittenTask& written, const std::string& path);

// Overruns among the tasks of one process. The process writes its tasks in turn, so an overwrite is known
// when it happens.
class OwnOverruns {
 public:
  // Records which bytes of `other` the new overruns of `parked` have overwritten. Called when a task with new
  // overruns (TaskBlocks::new_overruns) is parked, with each other task of its file.
  void look(const WrittenTask& parked, const WrittenTask& other);
  // Must be called at close for every task. Throws unless the checksums show that the recorded bytes are in
  // the file.
  void check(File& file, const WrittenTask& written) const;

 private:
  struct Hit {
    int64_t by, task;
    TaskBlocks::Overrun overrun;
    int64_t offset;    // begin of the overrun
    BlockExtent part;  // overwritten extent of a block of `task`
  };
  std::vector<Hit> hits_;
};

// Checks at close whether overruns between tasks of different processes have lost bytes. All bytes must be in
// the files. Collective. `mine` are the tasks of this process. open() returns a file to read. Returns an
// error if bytes may be missing where two processes have written to the same place; the caller must agree on
// it.
std::optional<Error> check_neighbours(Comm& comm, std::span<const WrittenTask> mine,
                                      const std::function<std::shared_ptr<File>(int32_t file)>& open);

}  // namespace sheaf::multifile
