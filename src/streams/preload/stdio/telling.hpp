// streams/preload/stdio/telling: prints messages of this library on standard error.
#pragma once

namespace sheaf::preload {

// Prints a message on file descriptor 2, which may belong to a captured file. Bypasses the program's `stderr`
// stream, allocates no memory, and truncates long messages. Must be called within an Inside
// (streams/preload/inside.hpp).
__attribute__((format(printf, 1, 2))) void tell(const char* format, ...) noexcept;

}  // namespace sheaf::preload
