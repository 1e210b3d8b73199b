// base/error: the one exception type of Sheaf and the vocabulary of its causes.
//
// An Error says what went wrong, what was being done, on which path, for which task and with which errno. It
// travels up to the C ABI, which turns it into the documented return value and a message; it never crosses
// the ABI, a user callback or a collective call (those agree on an outcome first, see comm/agree.hpp).
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

#include "base/export.hpp"

namespace sheaf {

enum class Code : int {
  ok = 0,
  invalid_argument,  // the caller passed something no file can satisfy
  wrong_mode,        // e.g. a write on a file opened for reading
  not_found,         // the path does not exist
  permission,        // the operating system refuses access
  io,                // the operating system reported a failure (errno says which)
  no_space,          // ENOSPC or EDQUOT
  not_a_multifile,   // the file does not start as a SION file does
  unsupported,       // a multifile, but of a format version this reader must refuse
  damaged,           // a multifile whose metadata contradict each other or the file size
  unclosed,          // a multifile that was never closed: no trailer
  out_of_range,      // a task, block or position that the multifile does not have
  mismatch,          // tasks of one collective call disagree about its arguments
  foreign,  // what lies where a file of our own should is not ours: it is neither written to nor removed
};

// Short lower-case name of a code, for example "no_space". Static storage.
const char* name_of(Code code);

class SHEAF_EXPORT Error : public std::exception {
 public:
  static constexpr int no_task = -1;

  // what_happened: one sentence without a final stop, e.g. "cannot open 'a.sion': Permission denied".
  Error(Code code, std::string what_happened, int errno_value = 0, int task = no_task);

  const char* what() const noexcept override { return message_.c_str(); }
  Code code() const { return code_; }
  int errno_value() const { return errno_; }
  int task() const { return task_; }

  // Whether another task of the same collective call prints this error, so that it appears once per job.
  bool is_reported_elsewhere() const { return reported_elsewhere_; }
  void set_reported_elsewhere(bool elsewhere) { reported_elsewhere_ = elsewhere; }

  // Whether an I/O listener or another task counts this error, so that this task does not (merror).
  bool is_counted() const { return counted_; }
  void set_counted() { counted_ = true; }

 private:
  Code code_;
  bool reported_elsewhere_ = false;
  bool counted_ = false;
  int errno_;
  int task_;
  std::string message_;
};

// An error of the operating system: "<doing> '<path>': <strerror>". The code follows from errno_value.
SHEAF_EXPORT Error os_error(std::string_view doing, std::string_view path, int errno_value);

// Error for a file whose contents are wrong: "'<path>': <finding>".
SHEAF_EXPORT Error file_error(Code code, std::string_view path, std::string_view finding);

}  // namespace sheaf
