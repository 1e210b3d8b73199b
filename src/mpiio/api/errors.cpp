#include "mpiio/api/errors.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <span>

#include "base/last_message.hpp"
#include "base/printable.hpp"
#include "mpiio/api/entry.hpp"

namespace sheaf::mpiio {
namespace {

constinit LastMessage message;
// Error class that the call which stored `message` has returned.
[[gnu::tls_model("initial-exec")]] constinit thread_local int message_class = MPI_SUCCESS;

struct Class {
  int number;  // errno value, or a Code
  int mpi_class;
};

constexpr Class of_errno[] = {
    {ENOMEM, MPI_ERR_NO_MEM},    {ENOENT, MPI_ERR_NO_SUCH_FILE}, {EEXIST, MPI_ERR_FILE_EXISTS},
    {EACCES, MPI_ERR_ACCESS},    {EPERM, MPI_ERR_ACCESS},        {EROFS, MPI_ERR_READ_ONLY},
    {ENOSPC, MPI_ERR_NO_SPACE},  {EDQUOT, MPI_ERR_QUOTA},        {ENAMETOOLONG, MPI_ERR_BAD_FILE},
    {ENOTDIR, MPI_ERR_BAD_FILE}, {EISDIR, MPI_ERR_BAD_FILE},     {ESPIPE, MPI_ERR_BAD_FILE},
    {ELOOP, MPI_ERR_BAD_FILE},   {EBUSY, MPI_ERR_FILE_IN_USE},   {ETXTBSY, MPI_ERR_FILE_IN_USE}};

constexpr Class of_code[] = {{static_cast<int>(Code::invalid_argument), MPI_ERR_ARG},
                             {static_cast<int>(Code::wrong_mode), MPI_ERR_ACCESS},
                             {static_cast<int>(Code::not_found), MPI_ERR_NO_SUCH_FILE},
                             {static_cast<int>(Code::permission), MPI_ERR_ACCESS},
                             {static_cast<int>(Code::no_space), MPI_ERR_NO_SPACE}};

int find_class(std::span<const Class> table, int number, int otherwise) {
  const auto found = std::ranges::find(table, number, &Class::number);
  return found == table.end() ? otherwise : found->mpi_class;
}

int class_of(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error)) return MPI_ERR_NO_MEM;
  const auto* const own = dynamic_cast<const Error*>(&error);
  if (!own) return MPI_ERR_OTHER;
  if (const auto* const named = dynamic_cast<const MpiError*>(own)) return named->mpi_class;
  if (own->code() == Code::unsupported) return MPI_ERR_UNSUPPORTED_OPERATION;
  if (own->code() == Code::mismatch) return MPI_ERR_NOT_SAME;
  return find_class(of_errno, own->errno_value(),
                    find_class(of_code, static_cast<int>(own->code()), MPI_ERR_IO));
}

}  // namespace

int record_error(const char* function, const std::exception& error) {
  message.set(function, error);
  message_class = class_of(error);
  const char* const wish = std::getenv("SHEAF_MPIIO_ERRORS");
  if (wish && *wish && *wish != '0') std::fprintf(stderr, "sheaf: %s\n", last_message());
  return message_class;
}

std::exception_ptr problem_to_agree_on() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return std::make_exception_ptr(MpiError(MPI_ERR_NO_MEM, "out of memory"));
  } catch (...) {
    return std::current_exception();
  }
}

void print_warnings(const char* function) {
  for (const std::string& text : take_warnings())
    std::fprintf(stderr, "sheaf: %s: %s\n", function, printable(text).c_str());
}

const char* last_message() { return message.text(message_class != MPI_SUCCESS); }

void remember_message(const std::string& text, int mpi_class) {
  message.set(text);
  message_class = mpi_class;
}

}  // namespace sheaf::mpiio

using namespace sheaf::mpiio;

// Returns the text of the MPI library. If `code` equals the code of this thread's last failing call on a
// file, appends the message of that call in brackets. The brackets mark it as uncertain: codes are error
// classes, so another call may have returned `code` since.
extern "C" int PMPI_Error_string(int code, char* text, int* length) {
  const int result = SHEAF_REAL(Error_string)(code, text, length);
  if (result != MPI_SUCCESS || code != message_class || code == MPI_SUCCESS) return result;
  const int room = MPI_MAX_ERROR_STRING - *length;
  *length +=
      std::min(std::snprintf(text + *length, static_cast<size_t>(room), " [%s]", last_message()), room - 1);
  return MPI_SUCCESS;
}
