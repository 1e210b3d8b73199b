// multifile/collective/lazy_file: a physical file that a task opens at its first access.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "storage/file.hpp"

namespace sheaf::multifile {

// Throws `foreign` if another program has replaced the file since the multifile was opened. `file` was just
// opened by its name, and `number` is the FileStatus::number that it should have. Checks nothing if either
// number is 0, that is, unknown.
inline void require_number(File& file, uint64_t number) {
  if (number == 0) return;
  const uint64_t found = file.status().number;
  if (found == 0 || found == number) return;
  throw file_error(Code::foreign, file.path(),
                   "was replaced while this program is writing it: it belongs to another open");
}

class LazyFile : public File {
 public:
  // `opened` is null if the file is not open yet. `store` must outlive the object.
  LazyFile(Store& store, std::string path, std::shared_ptr<File> opened)
      : store_(store), path_(std::move(path)), file_(std::move(opened)) {}

  // Returns the open file. Opens it if necessary.
  File& real() {
    if (!file_) file_ = open();
    return *file_;
  }

  void resize(int64_t size) override { real().resize(size); }
  int64_t next(Space space, int64_t offset) override { return real().next(space, offset); }
  FileDescriptor descriptor(DescriptorKind kind) override { return real().descriptor(kind); }
  const std::string& path() const override { return path_; }
  void close() override {
    if (file_) std::exchange(file_, nullptr)->close();
  }

 protected:
  virtual std::shared_ptr<File> open() = 0;

  Store& store_;
  const std::string path_;
  std::shared_ptr<File> file_;
};

}  // namespace sheaf::multifile
