// base/report/report: how errors and warnings reach the user of a C interface. They are remembered per thread
// and printed on stderr unless the program has switched that off. Any thread.
#pragma once

#include <exception>
#include <string_view>

#include "base/error.hpp"
#include "base/export.hpp"

namespace sheaf {

// Remembers and prints "SION_ERROR_RETURN on rank R, rc=N: <function>: <message>", with ", thread T" after
// the rank where threads have numbers. task: -1 if unknown. Honours SION_ERROR_MSG_RANK and
// SION_ERROR_MSG_THREAD. An error that another task reports is remembered; it is printed only if
// SION_ERROR_MSG_RANK selects this task. Throws nothing if memory is exhausted: the message may be cut off
// then, or be "out of memory".
SHEAF_EXPORT void report(std::string_view function, const std::exception& error, int task, int return_code);

// The last error that was reported in a thread.
struct ErrorFacts {
  Code code = Code::ok;
  int errno_value = 0;
  int task = -1;
};
SHEAF_EXPORT const ErrorFacts& last_error_facts();  // of the calling thread; also for other libraries

// Returns the text of that error, or an empty string if there is none. Valid until the next report of the
// thread.
SHEAF_EXPORT const char* last_error_text();

// Prints "SION_ERROR_WARN on rank R, rc=0: <function>: <message>".
SHEAF_EXPORT void warn(std::string_view function, std::string_view message, int task);

// warnings_wait() returns whether the current call has warnings (base/warnings); say_warnings() prints them.
SHEAF_EXPORT bool warnings_wait();
SHEAF_EXPORT void say_warnings(std::string_view function, int task);

// Switches printing on or off for all threads. Returns whether it was on.
bool print_errors(bool on);

// What the module of the C interface adds to messages.
struct ReportHooks {
  // The number of the calling thread, or -1 if threads have none.
  int (*thread_number)() = [] { return -1; };
  // Copies a message about task `task` to the debug log.
  void (*log)(std::string_view message, int task) = [](std::string_view, int) {};
};
// Called while the library is loaded; not thread-safe.
void set_report_hooks(const ReportHooks& hooks);

// Runs `action` at each call of run_before_mpi_ends(). Called at most once in a process, by the module that
// keeps what programs leave open.
void before_mpi_ends(void (*action)());

// Called in MPI_Finalize while tasks can still communicate. Local; does nothing without an action.
SHEAF_EXPORT void run_before_mpi_ends();

}  // namespace sheaf
