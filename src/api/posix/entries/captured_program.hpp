// api/posix/entries/captured_program: a captured file that is to be started. The kernel does not find it, so
// it gets the bytes in memory of its own; of a script only the interpreter is started, which reads the
// captured file by its name.
#pragma once

#include "base/non_copyable.hpp"

namespace sheaf::posix {

// #! INTERPRETER [ARGUMENT], as execve(2) has it.
class Script : private NonCopyable {
 public:
  Script() = default;
  explicit Script(const char* interpreter) : interpreter_(interpreter) {}
  // The begin of an open file. 0; ENOEXEC: it begins so, but is none.
  int read(int fd);
  const char* interpreter() const { return interpreter_; }  // null: no script
  const char* argument() const { return argument_; }        // null: none
  // What the interpreter is started with for the file `path`, in place of `words`: `result` has room for four
  // more than those.
  void put_words(const char* path, char* const* words, const char** result) const noexcept;

 private:
  static constexpr int most_of_line = 255;  // bytes, as in Linux
  char line_[most_of_line + 1];
  const char* interpreter_ = nullptr;
  const char* argument_ = nullptr;
};

// Not inside; also in a child of vfork(2).
class CapturedProgram : private NonCopyable {
 public:
  CapturedProgram(int at, const char* path);  // null: none
  explicit CapturedProgram(int fd);
  ~CapturedProgram();

  // 0, or why it cannot be started; hand_on: it is no captured file.
  int error() const { return error_; }
  const char* path() const { return path_; }  // of the memory, for execve(2)
  const Script& script() const { return script_; }

 private:
  template <class Make>
  void copy(const Make& make);
  void copy_open(int fd);

  int error_;
  int memory_ = -1;
  char path_[40];
  Script script_;
};

// The interpreter of a plain script, where that is a captured file.
bool has_captured_interpreter(const char* path, Script& script);

}  // namespace sheaf::posix
