#include "base/error.hpp"

#include <array>
#include <cerrno>
#include <system_error>

#include "base/printable.hpp"

namespace sheaf {

const char* name_of(Code code) {
  static constexpr std::array names = {
      "ok",       "invalid_argument", "wrong_mode",      "not_found",   "permission",
      "io",       "no_space",         "not_a_multifile", "unsupported", "damaged",
      "unclosed", "out_of_range",     "mismatch",        "foreign"};
  static_assert(names.size() == static_cast<size_t>(Code::foreign) + 1);
  const auto number = static_cast<size_t>(code);
  return number < names.size() ? names[number] : "unknown";
}

Error::Error(Code code, std::string what_happened, int errno_value, int task)
    : code_(code), errno_(errno_value), task_(task), message_(printable(what_happened)) {}

namespace {
Code code_of_errno(int e) {
  switch (e) {
    case ENOENT:
    case ENOTDIR:
      return Code::not_found;
    case EACCES:
    case EPERM:
    case EROFS:
      return Code::permission;
    case ENOSPC:
    case EDQUOT:
      return Code::no_space;
    default:
      return Code::io;
  }
}
}  // namespace

Error os_error(std::string_view doing, std::string_view path, int errno_value) {
  return Error(code_of_errno(errno_value),
               std::string(doing).append(" '").append(path).append("': ") +
                   std::generic_category().message(errno_value),
               errno_value);
}

Error file_error(Code code, std::string_view path, std::string_view finding) {
  return Error(code, std::string("'").append(path).append("': ").append(finding));
}

}  // namespace sheaf
