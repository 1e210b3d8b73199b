// reading: reads a multifile in every possible way. The targets and the test of flipped bits use it.
#pragma once

#include <map>
#include <optional>

#include "base/error.hpp"
#include "fuzz/packed_files.hpp"
#include "multifile/options/open_mode.hpp"
#include "multifile/stream/read_stream.hpp"

namespace sheaf::fuzz {

// Limits of the data that is read. Holes and overlapping blocks can make streams much longer than the files,
// so reading all data could take too long.
inline constexpr int64_t max_bytes = 16 << 10;  // per task
inline constexpr int64_t max_tasks = 24;

// Contents of a task's stream.
struct TaskContents {
  Bytes bytes;              // at most max_bytes
  int64_t length = 0;       // bytes of the whole stream
  int64_t globalrank = -1;  // if this way of reading provides it
  bool operator==(const TaskContents&) const = default;
};

struct ReadContents {
  int64_t ntasks = 0;
  std::map<int64_t, TaskContents> tasks;  // readable ones among those examined
  std::map<int64_t, Code> failures;       // errors of single tasks after a successful open
};

struct ReadSettings {
  int processes = 1;
  int64_t buffer_bytes = 0;
};

// The contents, or the error of the open.
struct ReadOutcome {
  std::optional<Error> error;
  ReadContents contents;
};

// The following functions open "m" in `store` and read it in different ways.
ReadOutcome read_serially(Store& store, const ReadSettings& settings);
ReadOutcome read_by_task(Store& store, int64_t ntasks,
                         const ReadSettings& settings);  // tasks 0..ntasks, one too many
ReadOutcome read_in_parallel(Store& store, int64_t ntasks,
                             const ReadSettings& settings);  // ntasks > 0: number of processes
ReadOutcome read_mapped(Store& store, const ReadSettings& settings);

// Throws a Contradiction if a task that is in both `a` and `b` has different contents. The message names
// `way`.
void require_same(const ReadContents& a, const ReadContents& b, const std::string& way);

// Reads a task's stream. `stream` must be at its beginning.
TaskContents read_task(multifile::ReadStream& stream);

multifile::OpenMode mode_of(const char* words, const ReadSettings& settings);

}  // namespace sheaf::fuzz
