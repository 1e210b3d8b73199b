#include "streams/preload/stdio/telling.hpp"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>

#include "streams/preload/real.hpp"
#include "streams/preload/transfer.hpp"

namespace sheaf::preload {

void tell(const char* format, ...) noexcept {
  char text[2 * PATH_MAX + 300];
  va_list arguments;
  va_start(arguments, format);
  const int n = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  const iovec all{text, std::min(size_t(std::max(n, 0)), sizeof text - 1)};
  if (write_captured(STDERR_FILENO, &all, 1, at_position) >= 0) return;
  while (real::write(STDERR_FILENO, text, all.iov_len) < 0 && errno == EINTR) continue;
}

}  // namespace sheaf::preload
