// base/error: the only exception type of Sheaf, and the codes of its causes.
//
// An Error describes the failure, the operation, the path, the task and the errno value. The C ABI converts
// it into the documented return value and a message. An Error never crosses the ABI, a user callback or a
// collective call; the tasks of a collective call agree on an outcome first (comm/agree.hpp).
#pragma once

#include <cerrno>
#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "base/export.hpp"

namespace sheaf {

enum class Code : int {
  ok = 0,
  invalid_argument,  // an argument that is invalid for any file
  wrong_mode,  // operation not allowed by the open mode, for example a write to a file opened for reading
  not_found,   // the path does not exist
  permission,  // access denied by the operating system
  io,          // other failure reported by the operating system; see errno
  no_space,    // ENOSPC or EDQUOT
  not_a_multifile,  // no signature of a SION file
  unsupported,      // a multifile with a format version that this reader must reject
  damaged,          // a multifile with metadata that contradict each other or the file size
  unclosed,         // a multifile that was never closed: no trailer
  out_of_range,     // a task, block or position outside the multifile
  mismatch,         // tasks of one collective call disagree about its arguments
  foreign,  // a file of our own was expected, but another was found; it is neither modified nor removed
};

// Returns the short lower-case name of a code, for example "no_space". Static storage.
const char* name_of(Code code);

class SHEAF_EXPORT Error : public std::exception {
 public:
  static constexpr int no_task = -1;

  // what_happened: one sentence without a final period, for example "cannot open 'a.sion': Permission
  // denied".
  Error(Code code, std::string what_happened, int errno_value = 0, int task = no_task);

  const char* what() const noexcept override { return message_.c_str(); }
  Code code() const { return code_; }
  int errno_value() const { return errno_; }
  int task() const { return task_; }

  // Returns true if another task of the same collective call prints this error, so that each job prints it
  // once.
  bool is_reported_elsewhere() const { return reported_elsewhere_; }
  void set_reported_elsewhere(bool elsewhere) { reported_elsewhere_ = elsewhere; }

  // Returns true if an I/O listener or another task counts this error for merror(). This task must not count
  // it again.
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

// Builds an operating system error "<doing> '<path>': <strerror>". Derives the code from errno_value.
SHEAF_EXPORT Error os_error(std::string_view doing, std::string_view path, int errno_value);

// Builds an error about invalid file contents: "'<path>': <finding>".
SHEAF_EXPORT Error file_error(Code code, std::string_view path, std::string_view finding);

// Runs `part` and returns the error that `part` threw, if any. Never throws.
template <class Part>
std::optional<Error> attempt(Part&& part) {
  try {
    try {
      part();
      return std::nullopt;
    } catch (const Error& e) {
      return e;
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& e) {
      return Error(Code::io, e.what());
    }
  } catch (const std::bad_alloc&) {                   // thrown by `part` or by building the message
    return Error(Code::io, "out of memory", ENOMEM);  // short enough for the string's inline buffer
  }
}

}  // namespace sheaf
