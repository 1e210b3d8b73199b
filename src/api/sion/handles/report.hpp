// api/sion/handles/report: how an error leaves the library through the C interface: remembered per thread,
// printed on stderr unless switched off, turned into the documented return value. Nothing is ever thrown
// across the border.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

#include "api/sion/handles/call_scope.hpp"
#include "base/error.hpp"
#include "base/export.hpp"
#include "sion_const.h"

namespace sheaf::api {

// Remembers and prints "SION_ERROR_RETURN on rank R, rc=N: <function>: <message>", with ", thread T" after
// the rank where threads have numbers. task: -1 if unknown. Honours SION_ERROR_MSG_RANK and
// SION_ERROR_MSG_THREAD. An error that another task reports is remembered; it is printed only if
// SION_ERROR_MSG_RANK selects this task. Throws nothing if memory is exhausted: the message may be cut off
// then, or be "out of memory".
SHEAF_EXPORT void report(std::string_view function, const std::exception& error, int task, int return_code);

// Of the last error that was reported in this thread, for sheaf_last_error_kind.
struct ErrorFacts {
  Code code = Code::ok;
  int errno_value = 0;
  int task = -1;
};
[[gnu::tls_model("initial-exec")]] extern constinit thread_local ErrorFacts last_facts;
SHEAF_EXPORT const ErrorFacts& last_error_facts();  // for other libraries

// The same as a warning: the call goes on.
SHEAF_EXPORT void warn(std::string_view function, std::string_view message, int task);

// The same with what this call has wanted to tell (base/warnings).
SHEAF_EXPORT bool warnings_wait();
SHEAF_EXPORT void say_warnings(std::string_view function, int task);

// Throws invalid_argument for a null pointer.
inline void require(const void* pointer, const char* name) {
  if (!pointer) throw Error(Code::invalid_argument, std::string("argument ") + name + " is NULL");
}

// Runs a call of the interface; `failure` is what it returns after an error (null: that is reported as 0).
// `task`: a number, or a function that finds it when there is something to report.
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

// The same for a call that has nothing to say but that all went well: body() returns nothing.
template <class Task, class Body>
int succeeds(const char* function, Task&& task, Body&& body) {
  return guarded(function, task, SION_NOT_SUCCESS, [&] {
    body();
    return SION_SUCCESS;
  });
}

}  // namespace sheaf::api
