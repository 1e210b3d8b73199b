#include "api/mpiio/errors.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "api/mpiio/entry.hpp"
#include "base/printable.hpp"

namespace sheaf::mpiio {
namespace {

thread_local std::string message;
thread_local int message_class = MPI_SUCCESS;  // what the call of `message` returned

int class_of_errno(int number, int otherwise) {
  switch (number) {
    case ENOENT:
      return MPI_ERR_NO_SUCH_FILE;
    case EEXIST:
      return MPI_ERR_FILE_EXISTS;
    case EACCES:
    case EPERM:
      return MPI_ERR_ACCESS;
    case EROFS:
      return MPI_ERR_READ_ONLY;
    case ENOSPC:
      return MPI_ERR_NO_SPACE;
    case EDQUOT:
      return MPI_ERR_QUOTA;
    case ENAMETOOLONG:
    case ENOTDIR:
    case EISDIR:
    case ESPIPE:
    case ELOOP:
      return MPI_ERR_BAD_FILE;
    case EBUSY:
    case ETXTBSY:
      return MPI_ERR_FILE_IN_USE;
    default:
      return otherwise;
  }
}

}  // namespace

int class_of(const Error& error) {
  if (const auto* const named = dynamic_cast<const MpiError*>(&error)) return named->mpi_class();
  switch (error.code()) {
    case Code::ok:
      return MPI_SUCCESS;
    case Code::invalid_argument:
      return class_of_errno(error.errno_value(), MPI_ERR_ARG);
    case Code::wrong_mode:
      return class_of_errno(error.errno_value(), MPI_ERR_ACCESS);
    case Code::not_found:
      return class_of_errno(error.errno_value(), MPI_ERR_NO_SUCH_FILE);
    case Code::permission:
      return class_of_errno(error.errno_value(), MPI_ERR_ACCESS);
    case Code::no_space:
      return class_of_errno(error.errno_value(), MPI_ERR_NO_SPACE);
    case Code::unsupported:
      return MPI_ERR_UNSUPPORTED_OPERATION;
    case Code::mismatch:
      return MPI_ERR_NOT_SAME;
    default:
      return class_of_errno(error.errno_value(), MPI_ERR_IO);
  }
}

int class_of_current(const char* function) {
  int result = MPI_ERR_OTHER;
  try {
    throw;
  } catch (const Error& e) {
    message = e.what();
    result = class_of(e);
  } catch (const std::bad_alloc&) {
    message = "out of memory";
    result = MPI_ERR_NO_MEM;
  } catch (const std::exception& e) {
    message = e.what();
  }
  message = std::string(function) + ": " + message;
  message_class = result;
  const char* const wish = std::getenv("SHEAF_MPIIO_ERRORS");
  if (wish && *wish && *wish != '0') std::fprintf(stderr, "sheaf: %s\n", message.c_str());
  return result;
}

void print_warnings(const char* function) {
  for (const std::string& text : take_warnings())
    std::fprintf(stderr, "sheaf: %s: %s\n", function, printable(text).c_str());
}

const char* last_message() { return message.c_str(); }

}  // namespace sheaf::mpiio

using namespace sheaf::mpiio;

// The library's text, and behind it what this thread's last failing call on a file has to say, if that is the
// code asked for. In brackets, since the returned codes are classes: the same code may have come from
// elsewhere since.
extern "C" int PMPI_Error_string(int code, char* text, int* length) {
  const int result = SHEAF_REAL(Error_string)(code, text, length);
  if (result != MPI_SUCCESS || code != message_class || code == MPI_SUCCESS || message.empty()) return result;
  const std::string whole = std::string(text) + " [" + message + "]";
  *length = static_cast<int>(whole.copy(text, MPI_MAX_ERROR_STRING - 1));
  text[*length] = 0;
  return MPI_SUCCESS;
}
