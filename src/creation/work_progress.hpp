// creation/work_progress: how long-running work (split, defrag, verify) tells its caller how far it is.
#pragma once

#include <cstdint>
#include <string>

namespace sheaf {

// An exception thrown by any of these ends the work, which then leaves nothing behind.
class WorkProgress {
 public:
  // At most this many bytes are moved between two calls of advance().
  static constexpr int64_t piece_bytes = 16 << 20;

  virtual ~WorkProgress() = default;

  // Before the first byte; again for each further part of the work, with the bytes of that part.
  virtual void begin(int64_t /*total_bytes*/) {}
  virtual void advance(int64_t /*bytes*/) {}
  // A new file for the data of `task` is about to be written.
  virtual void begin_output(int64_t /*task*/, const std::string& /*final_name*/) {}
};

}  // namespace sheaf
