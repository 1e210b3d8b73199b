// api/posix/entries/captured_program: a captured file that is to be started. The kernel does not find it, so
// it gets the bytes in memory of its own; of a script only the interpreter is started, which reads the
// captured file by its name.
#pragma once

#include "base/non_copyable.hpp"

namespace sheaf::posix {

// Not inside; also in a child of vfork(2).
class CapturedProgram : private NonCopyable {
 public:
  CapturedProgram(int at, const char* path);
  explicit CapturedProgram(int fd);
  ~CapturedProgram();

  // 0, or why it cannot be started; hand_on: it is no captured file.
  int error() const { return error_; }
  int descriptor() const { return memory_; }
  const char* path() const { return path_; }  // of the descriptor, for execve(2)
  // Of a script, and its argument: null, none.
  const char* interpreter() const { return interpreter_; }
  const char* argument() const { return argument_; }

 private:
  static constexpr int most_of_line = 256;  // bytes, as in Linux

  template <class Make>
  void copy(const Make& make);
  void read_first_line();

  int error_;
  int memory_ = -1;
  char path_[40];
  char line_[most_of_line];
  const char* interpreter_ = nullptr;
  const char* argument_ = nullptr;
};

// What an interpreter of the file `path` is started with, in place of `words`: `result` has room for four
// more than those. argument: may be null.
void words_of_interpreter(const char* interpreter, const char* argument, const char* path, char* const* words,
                          const char** result) noexcept;

}  // namespace sheaf::posix
