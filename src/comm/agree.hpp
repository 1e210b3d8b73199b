// comm/agree: how the tasks of a collective call come to one outcome.
//
// Every task attempts its part, catches what goes wrong, and takes part in agree(): either all return or all
// throw. No task leaves a collective call early, so none waits for one that has left.
#pragma once

#include <exception>
#include <new>
#include <optional>
#include <span>

#include "base/error.hpp"
#include "base/export.hpp"
#include "comm/comm.hpp"

namespace sheaf {

// Runs `part`; the error it ended with, if any. Throws nothing.
template <class Part>
std::optional<Error> attempt(Part&& part) {
  try {
    try {
      part();
      return std::nullopt;
    } catch (const Error& e) {
      return e;
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& e) {
      return Error(Code::io, e.what());
    }
  } catch (const std::bad_alloc&) {           // of `part`, or of the message
    return Error(Code::io, "out of memory");  // short enough for a string without memory of its own
  }
}

// The same, whatever has happened before; what it ends with becomes the `problem` if there was none.
template <class Part>
void attempt(std::optional<Error>& problem, Part&& part) {
  const auto failed = attempt(part);
  if (!problem) problem = failed;
}

// Collective. If no task brings an error, replaces `values` by their element-wise maximum over the tasks and
// returns. Otherwise throws on every task: its own error where there is one, elsewhere the error of the
// lowest failing rank with its code and "task R: " in front of the message. Errors of other tasks than that
// one are marked as reported elsewhere. One reduction; one broadcast more on failure.
SHEAF_EXPORT void agree(Comm& comm, const std::optional<Error>& mine, std::span<int64_t> values = {});

// Collective. The outcome of what task `actor` alone has done: all return, or all throw its error (the others
// as agree() does). One broadcast, which only waits for the actor; one more on failure.
SHEAF_EXPORT void agree_with(Comm& comm, const std::optional<Error>& mine, int actor);

}  // namespace sheaf
