// comm/agree: gives the tasks of a collective call one common outcome.
//
// Every task attempts its part, catches its own error, and calls agree(): either all tasks return or all
// throw. No task leaves a collective call early, so no task waits for one that has left.
#pragma once

#include <optional>
#include <span>

#include "base/error.hpp"
#include "base/export.hpp"
#include "comm/comm.hpp"

namespace sheaf {

// Runs `part` even if `problem` is already set. Stores the error of `part` in `problem` if that was empty.
template <class Part>
void attempt(std::optional<Error>& problem, Part&& part) {
  const auto failed = attempt(part);
  if (!problem) problem = failed;
}

// Collective. If no task passes an error, replaces `values` by their element-wise maximum over the tasks.
// Otherwise throws on every task: a failing task throws its own error; all others throw the error of the
// lowest failing rank, with its code and with "task R: " prepended to the message. Every error is marked as
// reported elsewhere, except on the lowest failing rank. Costs one reduction, and one broadcast more on
// failure.
SHEAF_EXPORT void agree(Comm& comm, const std::optional<Error>& mine, std::span<int64_t> values = {});

// Collective. Shares the outcome of work that task `actor` did alone: either all tasks return, or all throw
// the error that the actor passes, as in agree(). Costs one broadcast, in which tasks wait for the actor
// only, and a second broadcast on failure.
SHEAF_EXPORT void agree_with(Comm& comm, const std::optional<Error>& mine, int actor);

}  // namespace sheaf
