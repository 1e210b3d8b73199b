// streams/preload/entries/captured_program: execution of a captured file. The kernel cannot find the file, so
// its bytes are copied to a memory file, and the kernel executes the copy. If the file is a script, the
// interpreter is started instead, and reads the captured file by name.
#pragma once

#include "base/non_copyable.hpp"

namespace sheaf::preload {

// The first line of a script, #! INTERPRETER [ARGUMENT], as in execve(2).
class Script : private NonCopyable {
 public:
  Script() = default;
  explicit Script(const char* interpreter) : interpreter_(interpreter) {}
  // Reads the start of an open file. Returns 0, or ENOEXEC if the file begins with #! but is not a valid
  // script.
  int read(int fd);
  const char* interpreter() const { return interpreter_; }  // null if not a script
  const char* argument() const { return argument_; }        // null if absent
  // Writes the argument list that starts the interpreter on the script `path` to `result`. `words`: the
  // arguments of the script. `result` must have room for four more pointers than `words`.
  void put_words(const char* path, char* const* words, const char** result) const noexcept;

 private:
  static constexpr int max_of_line = 255;  // bytes, as in Linux
  char line_[max_of_line + 1];
  const char* interpreter_ = nullptr;
  const char* argument_ = nullptr;
};

// A program that may be a captured file, prepared for execve(2). Must not be used within an Inside
// (streams/preload/inside.hpp). A child of vfork(2) may use it, too.
class CapturedProgram : private NonCopyable {
 public:
  CapturedProgram(int at, const char* path);  // a null `path` names no program
  explicit CapturedProgram(int fd);
  ~CapturedProgram();

  // Returns 0, the errno if the program cannot be started, or hand_on if it is not a captured file.
  int error() const { return error_; }
  const char* path() const { return path_; }  // path of the memory file, for execve(2)
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

// Returns whether `path` is a plain script with a captured interpreter. Stores the first line of the script
// in `script`.
bool has_captured_interpreter(const char* path, Script& script);

}  // namespace sheaf::preload
