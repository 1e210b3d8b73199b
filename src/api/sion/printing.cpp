// Printing to the stream of the current task.
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <vector>

#include "api/sion/handles/exported.hpp"
#include "api/sion/handles/on_handle.hpp"
#include "api/sion/opening.hpp"

using namespace sheaf;
using namespace sheaf::api;

namespace {

// What vsnprintf needs for a call, ended with va_end.
struct Copy {
  explicit Copy(va_list arguments) { va_copy(list, arguments); }
  ~Copy() { va_end(list); }
  va_list list;
};

int print(const char* function, int sid, const char* format, va_list arguments) {
  return on_handle(function, sid, -1, [&](Handle& handle) {
    WriteStream& stream = get_writer(handle);
    if (!format) throw Error(Code::invalid_argument, "the format is NULL");
    char few[1024];
    std::vector<char> many;
    Copy again(arguments);
    const int bytes = std::vsnprintf(few, sizeof few, format, arguments);
    if (bytes < 0) throw Error(Code::invalid_argument, "the format cannot be printed", errno);
    const char* text = few;
    if (static_cast<size_t>(bytes) >= sizeof few) {
      many.resize(static_cast<size_t>(bytes) + 1);
      std::vsnprintf(many.data(), many.size(), format, again.list);
      text = many.data();
    }
    if (bytes > 0) stream.write({reinterpret_cast<const std::byte*>(text), static_cast<size_t>(bytes)});
    report_overrun(function, handle);
    return bytes;
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
