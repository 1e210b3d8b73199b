#include "base/error.hpp"

#include <cerrno>
#include <system_error>

#include "base/printable.hpp"

namespace sheaf {

const char* name_of(Code code) {
  switch (code) {
    case Code::ok:
      return "ok";
    case Code::invalid_argument:
      return "invalid_argument";
    case Code::wrong_mode:
      return "wrong_mode";
    case Code::not_found:
      return "not_found";
    case Code::permission:
      return "permission";
    case Code::io:
      return "io";
    case Code::no_space:
      return "no_space";
    case Code::not_a_multifile:
      return "not_a_multifile";
    case Code::unsupported:
      return "unsupported";
    case Code::damaged:
      return "damaged";
    case Code::unclosed:
      return "unclosed";
    case Code::out_of_range:
      return "out_of_range";
    case Code::mismatch:
      return "mismatch";
    case Code::foreign:
      return "foreign";
  }
  return "unknown";
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
  std::string text;
  text.append(doing).append(" '").append(path).append("': ");
  text += std::generic_category().message(errno_value);
  return Error(code_of_errno(errno_value), std::move(text), errno_value);
}

Error file_error(Code code, std::string_view path, std::string_view finding) {
  std::string text;
  text.append("'").append(path).append("': ").append(finding);
  return Error(code, std::move(text));
}

}  // namespace sheaf
