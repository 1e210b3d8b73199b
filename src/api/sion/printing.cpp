// Formatted output to the stream of the current task.
#include <cerrno>
#include <cstdarg>
#include <span>

#include "api/sion/handles/exported.hpp"
#include "api/sion/handles/formatted.hpp"
#include "api/sion/handles/on_handle.hpp"
#include "api/sion/opening.hpp"

using namespace sheaf;
using namespace sheaf::api;

namespace {

int print(const char* function, int sid, const char* format, va_list arguments) {
  return on_handle_to_write(function, sid, -1, [&](SionHandle& handle) {
    if (!format) throw Error(Code::invalid_argument, "the format is NULL");
    const auto text = formatted(format, arguments);
    if (!text) throw Error(Code::invalid_argument, "the format cannot be printed", errno);
    if (!text->empty()) handle.write(std::as_bytes(std::span(*text)));
    report_overrun(function, handle);
    return static_cast<int>(text->size());
  });
}

}  // namespace

int sion_vfprintf(int sid, const char* format, va_list arguments) {
  return print("sion_vfprintf", sid, format, arguments);
}

int sion_fprintf(int sid, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int printed = print("sion_fprintf", sid, format, arguments);
  va_end(arguments);
  return printed;
}
