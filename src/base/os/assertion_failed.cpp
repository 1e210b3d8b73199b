// base/os/assertion_failed: the report of a failed assertion (base/assert.hpp).
#include <sys/uio.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "base/assert.hpp"

namespace sheaf {

// Defined here alone, so that a change of the option compiles one file.
#ifdef SHEAF_DEBUG_ASSERTIONS
const bool debug_assertions = true;
#else
const bool debug_assertions = false;
#endif

// Allocates nothing and takes no lock, because the heap may be damaged and the thread may hold any lock. One
// call, so that the lines of several tasks do not mix. The process ends even if the call fails.
void assertion_failed(const char* condition, const char* file, int line, const char* function) noexcept {
  char number[16] = {};
  std::to_chars(number, number + sizeof number - 1, line);
  const char* const words[] = {
      "sheaf: assertion failed: ", condition, ", ", file, ":", number, " (", function, ")\n"};
  iovec parts[std::size(words)];
  for (size_t i = 0; i < std::size(words); ++i)
    parts[i] = {const_cast<char*>(words[i]), std::strlen(words[i])};
  [[maybe_unused]] const ssize_t written = ::writev(STDERR_FILENO, parts, std::size(parts));
  std::abort();
}

}  // namespace sheaf
