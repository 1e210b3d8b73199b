// api/sion/handles/debug_log: the debug log of sion_debug.h for use inside the library.
//
// While the log is off, a query costs one atomic load. No code on the data path queries it.
#pragma once

#include <string_view>

#include "base/export.hpp"

namespace sheaf::api {

// Subject of a line of the library: a bit of the mask.
enum class Subject : int { errors = 1, handles = 2 };

// Returns whether a line about `subject` would be written. Reads the environment on the first call.
bool debugging(Subject subject);

// Writes one line if the log is on for `subject` and `task`. A `task` of -1 means that the task is unknown.
// Never throws. Thread-safe.
void debug_line(Subject subject, std::string_view text, int task);

// Returns the number of the calling thread, or -1 if no source of thread numbers is set.
int thread_number();

// Sets the source of thread numbers. No effect if a source is set already.
SHEAF_EXPORT void use_thread_numbers(int (*get_thread_num)());

}  // namespace sheaf::api
