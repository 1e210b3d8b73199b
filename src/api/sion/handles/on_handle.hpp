// api/sion/handles/on_handle: the calls of the interface on an open multifile. Each returns what guarded()
// does; the task it names is the current one.
#pragma once

#include "api/sion/handles/handle.hpp"
#include "api/sion/handles/report.hpp"

namespace sheaf::api {

// Runs body(handle), after get_handle(); `failure` if there is none or something goes wrong.
template <class Result, class Body>
Result on_handle(const char* function, int sid, Result failure, Body&& body) {
  Handle* const h = find_handle(sid);
  const auto task = [h] { return h ? h->task() : -1; };
  return guarded(function, task, failure, [&]() -> Result { return body(get_handle(sid)); });
}

// The same for a call that has nothing to say but that all went well: body(handle) returns nothing.
template <class Body>
int succeeds_on_handle(const char* function, int sid, Body&& body) {
  return on_handle(function, sid, SION_NOT_SUCCESS, [&](Handle& handle) {
    body(handle);
    return SION_SUCCESS;
  });
}

// Runs body(handle) on the handle as it is, also to close it; `invalid` if there is none.
template <class Result, class Body>
Result on_found_handle(const char* function, int sid, Result invalid, Result failure, Body&& body) {
  Handle* const h = find_handle(sid);
  if (!h) return on_handle(function, sid, invalid, [&](Handle&) { return invalid; });
  return guarded(function, h->task(), failure, [&]() -> Result { return body(*h); });
}

// The same for a call that appends: body(handle) brings the bytes to handle.append(), and the stream of the
// program is not settled before.
template <class Result, class Body>
Result on_handle_to_write(const char* function, int sid, Result failure, Body&& body) {
  return on_found_handle(function, sid, failure, failure, [&](Handle& handle) -> Result {
    begin_call(handle);
    get_writer(handle);
    return body(handle);
  });
}

}  // namespace sheaf::api
