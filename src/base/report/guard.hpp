// base/report/guard: the boundary of the C interfaces, which no exception crosses.
#pragma once

#include <exception>
#include <type_traits>

namespace sheaf {

// Runs the body of a call and returns its result, or `success` if it has none. If the body throws, returns
// failed(error), which reports the error and returns the documented result of a failed call.
template <class Success, class Body, class Failed>
auto run_guarded(Success success, Body&& body, Failed&& failed)
    -> std::invoke_result_t<Failed&, const std::exception&> {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<Body&>>) {
      body();
      return success;
    } else {
      return body();
    }
  } catch (const std::exception& error) {
    return failed(error);
  }
}

}  // namespace sheaf
