// api/sion/handles/debug_log: the debug log of sion_debug.h, as the library itself uses it.
//
// Off, it costs one atomic load per question; nothing on the path of data asks.
#pragma once

#include <string_view>

#include "base/export.hpp"

namespace sheaf::api {

// What a line of the library is about: a bit of the mask.
enum class Subject : int { errors = 1, handles = 2 };

// Whether a line about `subject` would be written; reads the environment the first time.
bool debugging(Subject subject);

// One line, if the log is on for `subject` and `task` (-1: unknown). Never throws. Any thread.
void debug_line(Subject subject, std::string_view text, int task);

// The number of the calling thread, or -1 where nobody has said how to find it.
int thread_number();

// Sets the source of thread numbers if there is none.
SHEAF_EXPORT void use_thread_numbers(int (*get_thread_num)());

}  // namespace sheaf::api
