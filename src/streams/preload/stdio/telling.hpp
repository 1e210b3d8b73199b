// streams/preload/stdio/telling: messages of this library on standard error, which may be a captured file.
// Does not use the stream of the program. Must be called within an Inside (streams/preload/inside.hpp).
// Allocates no memory.
#pragma once

namespace sheaf::posix {

__attribute__((format(printf, 1, 2))) void tell(const char* format, ...) noexcept;

}  // namespace sheaf::posix
