// base/report/report: reports errors and warnings of a C interface to its user. Stores the last error of each
// thread, and prints messages on stderr unless the program has switched printing off. Any thread may call the
// functions, unless noted otherwise.
#pragma once

#include <exception>
#include <string_view>

#include "base/error.hpp"
#include "base/export.hpp"

namespace sheaf {

// Stores the error and prints "SION_ERROR_RETURN on rank R, rc=N: <function>: <message>", with ", thread T"
// after the rank if threads have numbers. `task` is R, or -1 if unknown. Prints only for the rank and thread
// that SION_ERROR_MSG_RANK and SION_ERROR_MSG_THREAD select, if they are set. If another task reports the
// same error, prints it only if SION_ERROR_MSG_RANK selects this task. Never throws; if memory is exhausted,
// truncates the message or replaces it by "out of memory".
SHEAF_EXPORT void report(std::string_view function, const std::exception& error, int task, int return_code);

// The last error that was reported in a thread.
struct ErrorFacts {
  Code code = Code::ok;
  int errno_value = 0;
  int task = -1;
};
SHEAF_EXPORT const ErrorFacts& last_error_facts();  // of the calling thread

// Returns the text of the last error of the calling thread, or "" if there was none. Valid until the thread
// reports the next error.
SHEAF_EXPORT const char* last_error_text();

// Prints "SION_ERROR_WARN on rank R, rc=0: <function>: <message>".
SHEAF_EXPORT void warn(std::string_view function, std::string_view message, int task);

// warnings_wait() returns true if the calling thread has warnings that are not printed yet (base/warnings).
// say_warnings() prints and removes them.
SHEAF_EXPORT bool warnings_wait();
SHEAF_EXPORT void say_warnings(std::string_view function, int task);

// Switches printing on or off for all threads. Returns true if it was on.
bool print_errors(bool on);

// Functions by which the module of the C interface adds to messages.
struct ReportHooks {
  // Returns the number of the calling thread, or -1 if threads have none.
  int (*thread_number)() = [] { return -1; };
  // Copies a message about task `task` to the debug log.
  void (*log)(std::string_view message, int task) = [](std::string_view, int) {};
};
// Sets the functions. Must be called while the library is loaded, because it is not thread-safe.
void set_report_hooks(const ReportHooks& hooks);

}  // namespace sheaf
