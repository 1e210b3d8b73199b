// sfio/api/refused: counts errors of calls in this process that no listener counts: bad arguments, closed
// files, an ended session, a listener that is gone.
//
// The counts outlive a session. Any thread may call the functions.
#pragma once

#include <exception>

#include "sfio/service/protocol.hpp"

namespace sheaf::sfio {

// Counts the failure of a call of this kind, unless a listener counts the error or another task of the same
// collective call reports it.
void count_refused(Counted kind, const std::exception& error);

// Returns the counts since the last call and resets them.
ErrorCounts take_refused();

}  // namespace sheaf::sfio
