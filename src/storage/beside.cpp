#include "storage/beside.hpp"

#include "base/error.hpp"

namespace sheaf {

std::shared_ptr<File> open_beside(Store& store, const std::string& path, const std::string& neighbour) {
  auto file = store.open(path, Access::beside);
  const FileStatus found = file->status();
  if (found.is_own || found.owner == store.status(neighbour).owner) return file;
  file->close();
  throw file_error(Code::foreign, path, "belongs to another user");
}

}  // namespace sheaf
