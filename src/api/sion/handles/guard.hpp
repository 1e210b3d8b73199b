// api/sion/handles/guard: wraps the calls of the C interface. An exception is reported (base/report) and
// becomes the documented return value of the call. No exception leaves the library.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

#include "api/sion/handles/call_scope.hpp"
#include "base/error.hpp"
#include "base/report/guard.hpp"
#include "base/report/report.hpp"
#include "comm/collective_call.hpp"
#include "sion_const.h"

namespace sheaf::api {

// Throws invalid_argument if the pointer is null.
inline void require(const void* pointer, const char* name) {
  if (!pointer) throw Error(Code::invalid_argument, std::string("argument ") + name + " is NULL");
}

// Runs the body of a call and returns its result, or `failure` after an error; a body without a result
// returns SION_SUCCESS. The report of an error contains `failure` as a number, 0 for a null pointer. `task`
// is the number of the task in the report, or a function that returns the number and runs only if a report is
// made.
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
  const Result result = run_guarded(SION_SUCCESS, body, [&](const std::exception& error) {
    int code = 0;
    if constexpr (!std::is_pointer_v<Result>) code = static_cast<int>(failure);
    report(function, error, number(), code);
    return failure;
  });
  if (warnings_wait()) [[unlikely]]
    say_warnings(function, number());
  return result;
}

// Runs the body of a collective call as guarded() does. If it runs out of memory and the tasks cannot agree
// on that, ends the job (comm/collective_call).
template <class Task, class Result, class Body>
Result guarded_together(const char* function, Task&& task, const JobEnd& end, Result failure, Body&& body) {
  return guarded(function, task, failure, [&] { return collective_call(end, function, body); });
}

// Runs a body without a result as guarded() does. Returns SION_SUCCESS or SION_NOT_SUCCESS.
template <class Task, class Body>
int succeeds(const char* function, Task&& task, Body&& body) {
  static_assert(std::is_void_v<std::invoke_result_t<Body&>>);
  return guarded(function, task, SION_NOT_SUCCESS, body);
}

}  // namespace sheaf::api
