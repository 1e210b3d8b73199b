// multifile/create/work_progress: progress reports of long operations (split, defrag, verify) to their
// callers.
#pragma once

#include <cstdint>
#include <string>

namespace sheaf {

// An exception from any call ends the operation, which then removes its output.
class WorkProgress {
 public:
  // At most this many bytes are processed between two calls of advance().
  static constexpr int64_t piece_bytes = 16 << 20;

  virtual ~WorkProgress() = default;

  // Called before the first byte, and again for each further part of the work with the bytes of that part.
  virtual void begin(int64_t /*total_bytes*/) {}
  virtual void advance(int64_t /*bytes*/) {}
  // Called before a new file for the data of `task` is written.
  virtual void begin_output(int64_t /*task*/, const std::string& /*final_name*/) {}
};

}  // namespace sheaf
