// api/sion/handles/on_handle: wrappers of calls on an open multifile. Each returns the result of guarded();
// errors name the current task.
#pragma once

#include "api/sion/handles/guard.hpp"
#include "api/sion/handles/handle.hpp"

namespace sheaf::api {

// Runs body(handle) after get_handle(). Returns `failure` if the sid is invalid or the call fails.
template <class Result, class Body>
Result on_handle(const char* function, int sid, Result failure, Body&& body) {
  SionHandle* const h = find_handle(sid);
  const auto task = [h] { return h ? h->task() : -1; };
  return guarded(function, task, failure, [&] { return body(get_handle(sid)); });
}

// Runs a body without a result as on_handle() does. Returns SION_SUCCESS or SION_NOT_SUCCESS.
template <class Body>
int succeeds_on_handle(const char* function, int sid, Body&& body) {
  static_assert(std::is_void_v<std::invoke_result_t<Body&, SionHandle&>>);
  return on_handle(function, sid, SION_NOT_SUCCESS, body);
}

// Runs body(handle) without get_handle(), for example to close it. Returns `invalid` if the sid is invalid.
template <class Result, class Body>
Result on_found_handle(const char* function, int sid, Result invalid, Result failure, Body&& body) {
  SionHandle* const h = find_handle(sid);
  if (!h) return on_handle(function, sid, invalid, [&](SionHandle&) { return invalid; });
  return guarded(function, h->task(), failure, [&] { return body(*h); });
}

// Runs the body of a call that appends, which passes the bytes to handle.append(). Unlike on_handle(), does
// not settle the program's stream before the body.
template <class Result, class Body>
Result on_handle_to_write(const char* function, int sid, Result failure, Body&& body) {
  return on_found_handle(function, sid, failure, failure, [&](SionHandle& handle) {
    begin_call(handle);
    get_writer(handle);
    return body(handle);
  });
}

}  // namespace sheaf::api
