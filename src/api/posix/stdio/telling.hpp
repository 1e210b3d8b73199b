// api/posix/stdio/telling: what this library has to say, on standard error, which may be a captured file; the
// stream of the program is not used. Inside; takes no memory.
#pragma once

namespace sheaf::posix {

__attribute__((format(printf, 1, 2))) void tell(const char* format, ...) noexcept;

}  // namespace sheaf::posix
