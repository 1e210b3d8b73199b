// base/quiet_thread: threads of the library's own. Signals are the program's: none is delivered to them.
#pragma once

#include <functional>
#include <thread>

#include "base/export.hpp"

namespace sheaf {

// Starts one. Throws std::system_error where there are no more to be had.
SHEAF_EXPORT std::thread quiet_thread(std::function<void()> body);

}  // namespace sheaf
