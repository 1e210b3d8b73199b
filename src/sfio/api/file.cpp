#include "sfio/api/file.hpp"

#include <mutex>

namespace sheaf::sfio {

namespace {

struct OpenFiles {
  std::mutex mutex;
  std::set<const MFILE*> files;
};

// Never destroyed: files may be used while the process exits.
OpenFiles& open_files() {
  static auto* const all = new OpenFiles;
  return *all;
}

}  // namespace

MFILE* add_open_file(std::unique_ptr<sfio_file> file) {
  OpenFiles& all = open_files();
  const std::lock_guard lock(all.mutex);
  all.files.insert(file.get());
  return file.release();
}

std::unique_ptr<sfio_file> remove_open_file(MFILE* f) {
  OpenFiles& all = open_files();
  const std::lock_guard lock(all.mutex);
  all.files.erase(f);
  return std::unique_ptr<sfio_file>(f);
}

bool is_open_file(const MFILE* f) {
  OpenFiles& all = open_files();
  const std::lock_guard lock(all.mutex);
  return all.files.contains(f);
}

}  // namespace sheaf::sfio
