#include "comm/collective_call.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

namespace sheaf {

void end_without_memory(const JobEnd& end, const char* call) {
  std::array<char, 400> text;  // no allocation
  const int length = std::snprintf(
      text.data(), text.size(),
      "sheaf: %s: task %d is out of memory in a collective call, so the job ends; files that it writes are "
      "as "
      "after a kill (`sheaf repair` completes them); run fewer tasks on a host, or smaller buffers\n",
      call, end.task);
  const auto shown = std::min(static_cast<size_t>(std::max(length, 0)), text.size() - 1);
  static_cast<void>(!::write(STDERR_FILENO, text.data(), shown));
  end.now();
  std::abort();
}

JobEnd process_job_end(int rank, int size) {
  if (size <= 1) return {};
  return {.now = std::abort, .task = rank};
}

}  // namespace sheaf
