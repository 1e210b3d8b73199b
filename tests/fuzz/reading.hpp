// reading: reads a multifile in every possible way; for the targets and the test of flipped bits.
#pragma once

#include <map>
#include <optional>

#include "base/error.hpp"
#include "fuzz/packed_files.hpp"
#include "multifile/options/open_mode.hpp"
#include "multifile/stream/read_stream.hpp"

namespace sheaf::fuzz {

// Upper limits of the data examined, since holes and overlapping blocks make streams longer than the files.
inline constexpr int64_t max_bytes = 16 << 10;  // per task
inline constexpr int64_t max_tasks = 24;

// Contents of a task's stream.
struct TaskContents {
  Bytes bytes;              // at most max_bytes
  int64_t length = 0;       // bytes of the whole stream
  int64_t globalrank = -1;  // if this way of reading provides it
  bool operator==(const TaskContents&) const = default;
};

struct Contents {
  int64_t ntasks = 0;
  std::map<int64_t, TaskContents> tasks;  // readable ones among those examined
  std::map<int64_t, Code> failures;       // errors of single tasks after a successful open
};

struct ReadSettings {
  int processes = 1;
  int64_t buffer_bytes = 0;
};

// The contents, or the error of the open. All functions open "m" in `store`.
struct Outcome {
  std::optional<Error> error;
  Contents contents;
};
Outcome read_serially(Store& store, const ReadSettings& settings);
Outcome read_by_task(Store& store, int64_t ntasks,
                     const ReadSettings& settings);  // tasks 0..ntasks, one too many
Outcome read_in_parallel(Store& store, int64_t ntasks,
                         const ReadSettings& settings);  // ntasks > 0: number of processes
Outcome read_mapped(Store& store, const ReadSettings& settings);

// Throws a Contradiction unless the tasks found in both have equal contents. `way` is for the message.
void require_same(const Contents& a, const Contents& b, const std::string& way);

// `stream` is positioned at its beginning.
TaskContents read_task(ReadStream& stream);

OpenMode mode_of(const char* words, const ReadSettings& settings);

}  // namespace sheaf::fuzz
