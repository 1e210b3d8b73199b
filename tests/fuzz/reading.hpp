// reading: a multifile read in every way there is; for the targets and the test of flipped bits.
#pragma once

#include <map>
#include <optional>

#include "base/error.hpp"
#include "fuzz/packed_files.hpp"
#include "mode/open_mode.hpp"
#include "stream/read_stream.hpp"

namespace sheaf::fuzz {

// At most this much is looked at, since holes and overlapping blocks make streams that are longer than the
// files.
inline constexpr int64_t most_bytes = 16 << 10;  // of a task
inline constexpr int64_t most_tasks = 24;

// What a task's stream holds.
struct TaskContents {
  Bytes bytes;              // as many as most_bytes allows
  int64_t length = 0;       // of the whole stream
  int64_t globalrank = -1;  // where the way of reading tells
  bool operator==(const TaskContents&) const = default;
};

struct Contents {
  int64_t ntasks = 0;
  std::map<int64_t, TaskContents> tasks;  // those looked at and readable
  std::map<int64_t, Code> failures;       // of single tasks, found after a successful open
};

struct ReadSettings {
  int processes = 1;
  int64_t buffer_bytes = 0;
};

// The contents, or the error that opening ended with. All open "m" in `store`.
struct Outcome {
  std::optional<Error> error;
  Contents contents;
};
Outcome read_serially(Store& store, const ReadSettings& settings);
Outcome read_by_task(Store& store, int64_t ntasks,
                     const ReadSettings& settings);  // tasks 0..ntasks, one too many
Outcome read_in_parallel(Store& store, int64_t ntasks,
                         const ReadSettings& settings);  // ntasks > 0: as many processes
Outcome read_mapped(Store& store, const ReadSettings& settings);

// Throws a Contradiction unless the tasks that both have found hold the same. `way` is for the message.
void require_same(const Contents& a, const Contents& b, const std::string& way);

// Where `stream` stands is its begin.
TaskContents read_task(ReadStream& stream);

OpenMode mode_of(const char* words, const ReadSettings& settings);

}  // namespace sheaf::fuzz
