#include "storage/beside.hpp"

#include <cerrno>
#include <chrono>
#include <thread>

#include "base/error.hpp"
#include "base/os/random.hpp"
#include "storage/constants.hpp"
#include "storage/store.hpp"

namespace sheaf {

std::string place_beside(Store& store, const std::string& path) {
  try {
    return store.target_of(path);
  } catch (const Error&) {
    return path;
  }
}

namespace {

// Returns true if a new file of this process in the directory gets the same owner as `found`, because some
// file systems report one owner for all files.
bool shows_own_as(Store& store, const std::string& path, const FileStatus& found) {
  const std::string probe =
      path.substr(0, path.rfind('/') + 1) + ".sheaf-owner." + std::to_string(random_number());
  FileStatus made;
  try {
    const auto file = make_beside(store, probe);
    made = file->status();
    file->close();
    store.remove(probe);
  } catch (const Error&) {
    return false;
  }
  return !made.is_own && made.owner == found.owner;
}

bool has_owner_of(Store& store, const std::string& neighbour, const FileStatus& found) {
  const FileStatus status = store.status(neighbour);
  return status.exists && status.owner == found.owner;
}

}  // namespace

std::shared_ptr<File> make_beside(Store& store, const std::string& path) {
  return store.open(path, Access::fresh);
}

std::shared_ptr<File> open_beside(Store& store, const std::string& path, const std::string& neighbour) {
  auto file = store.open(path, Access::sidecar);
  const FileStatus found = file->status();
  if (found.is_own ||
      (neighbour.empty() ? shows_own_as(store, path, found) : has_owner_of(store, neighbour, found)))
    return file;
  file->close();
  throw file_error(Code::foreign, path, "belongs to another user");
}

std::shared_ptr<File> make_or_open_beside(Store& store, const std::string& path, const std::string& neighbour,
                                          bool& made) {
  using namespace storage_constants;
  for (int tries = 1;; ++tries) {
    made = false;
    try {
      return open_beside(store, path, neighbour);
    } catch (const Error& e) {
      if (e.code() != Code::not_found) throw;
    }
    try {
      auto file = make_beside(store, path);
      made = true;
      return file;
    } catch (const Error& e) {
      if (e.errno_value() != EEXIST) throw;
    }
    // Another task has created or removed the file in between.
    if (tries == max_beside_tries) throw os_error("cannot create", path, EEXIST);
    if (tries > 1)
      // Other tasks create and remove the file repeatedly, or are creating a striped file.
      std::this_thread::sleep_for(beside_pause);
  }
}

}  // namespace sheaf
