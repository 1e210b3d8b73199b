// streams/preload/errors: converts exceptions of the lower modules to errno.
#pragma once

#include <cerrno>
#include <exception>
#include <new>

#include "base/error.hpp"

namespace sheaf::preload {

inline int errno_of_error(const Error& error) noexcept {
  if (error.errno_value() != 0) return error.errno_value();
  switch (error.code()) {
    case Code::not_found:
      return ENOENT;
    case Code::permission:
      return EACCES;
    case Code::no_space:
      return ENOSPC;
    case Code::invalid_argument:
      return EINVAL;
    case Code::wrong_mode:
      return EBADF;
    default:
      return EIO;
  }
}

// Runs `work`. Returns 0, or the errno that a file system would report.
template <class Work>
int errno_of(Work&& work) noexcept {
  try {
    work();
    return 0;
  } catch (const Error& error) {
    return errno_of_error(error);
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  } catch (...) {
    return EIO;
  }
}

// Sets errno and returns -1, for the end of a failed call.
inline int failed(int error) noexcept {
  errno = error;
  return -1;
}

// For the end of a call: returns 0 if `error` is 0; otherwise sets errno and returns -1.
inline int result_of(int error) noexcept { return error == 0 ? 0 : failed(error); }

}  // namespace sheaf::preload
