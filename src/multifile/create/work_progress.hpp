// multifile/create/work_progress: an interface through which long operations (split, defrag, verify) report
// progress to their callers.
#pragma once

#include <cstdint>
#include <string>

namespace sheaf::multifile {

// If a call throws, the operation ends and removes its output.
class WorkProgress {
 public:
  // At most this many bytes are processed between two calls of advance().
  static constexpr int64_t piece_bytes = 16 << 20;

  virtual ~WorkProgress() = default;

  // Called before each part of the work with the number of bytes of that part.
  virtual void begin(int64_t /*total_bytes*/) {}
  // Called after `bytes` more bytes were processed. 0 only lets the caller end the operation.
  virtual void advance(int64_t /*bytes*/) {}
  // Called before a new file for the data of `task` is written.
  virtual void begin_output(int64_t /*task*/, const std::string& /*final_name*/) {}
};

}  // namespace sheaf::multifile
