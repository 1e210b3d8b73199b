// base/report/assertion_failed: the report of a failed assertion.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/assert.hpp"

namespace sheaf {

// Allocates nothing and takes no lock, because the heap may be damaged and the thread may hold any lock. One
// call, so that the lines of several tasks do not mix. The process ends even if the call fails.
void assertion_failed(const char* condition, const char* file, int line, const char* function) noexcept {
  ::dprintf(STDERR_FILENO, "sheaf: assertion failed: %s, %s:%d (%s)\n", condition, file, line, function);
  std::abort();
}

}  // namespace sheaf
