// api/sion/handles/report: error reporting at the C interface. An error is stored per thread, printed on
// stderr unless switched off, and converted to the documented return value. No exception leaves the library.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

#include "api/sion/handles/call_scope.hpp"
#include "base/error.hpp"
#include "base/export.hpp"
#include "sion_const.h"

namespace sheaf::api {

// Stores and prints "SION_ERROR_RETURN on rank R, rc=N: <function>: <message>", with ", thread T" after the
// rank if threads have numbers. `task` is -1 if unknown. Honours SION_ERROR_MSG_RANK and
// SION_ERROR_MSG_THREAD. An error that another task reports is stored, and printed only if
// SION_ERROR_MSG_RANK selects this task. Never throws; if memory is exhausted, the message may be truncated
// or be "out of memory".
SHEAF_EXPORT void report(std::string_view function, const std::exception& error, int task, int return_code);

// Properties of the last error reported in this thread, for sheaf_last_error_kind.
struct ErrorFacts {
  Code code = Code::ok;
  int errno_value = 0;
  int task = -1;
};
[[gnu::tls_model("initial-exec")]] extern constinit thread_local ErrorFacts last_facts;
SHEAF_EXPORT const ErrorFacts& last_error_facts();  // for other libraries

// Prints a warning in the same format; the call continues.
SHEAF_EXPORT void warn(std::string_view function, std::string_view message, int task);

// Query and print the warnings collected during this call (base/warnings).
SHEAF_EXPORT bool warnings_wait();
SHEAF_EXPORT void say_warnings(std::string_view function, int task);

// Throws invalid_argument if the pointer is null.
inline void require(const void* pointer, const char* name) {
  if (!pointer) throw Error(Code::invalid_argument, std::string("argument ") + name + " is NULL");
}

// Runs the body of a call and returns its result, or `failure` after an error (a null pointer is reported as
// 0). `task` is a number, or a function evaluated only when a report is made.
template <class Task, class Result, class Body>
Result guarded(const char* function, Task&& task, Result failure, Body&& body) {
  const CallScope scope;
  const auto number = [&]() -> int {
    if constexpr (std::is_invocable_v<Task>) {
      return task();
    } else {
      return task;
    }
  };
  int code = 0;
  if constexpr (!std::is_pointer_v<Result>) code = static_cast<int>(failure);
  Result result = failure;
  try {
    result = body();
  } catch (const std::exception& e) {
    report(function, e, number(), code);
  }
  if (warnings_wait()) [[unlikely]]
    say_warnings(function, number());
  return result;
}

// Like guarded, for a body without a result: returns SION_SUCCESS or SION_NOT_SUCCESS.
template <class Task, class Body>
int succeeds(const char* function, Task&& task, Body&& body) {
  return guarded(function, task, SION_NOT_SUCCESS, [&] {
    body();
    return SION_SUCCESS;
  });
}

}  // namespace sheaf::api
