// mpiio/file/shared_pointer: the file pointer shared by all tasks.
//
// The pointer is stored in a sidecar file, which is created on first use and removed at close. The sidecar
// file holds 8 bytes that identify the open, then 8 bytes for each view since the open. Tasks update it under
// a lock. Any task on any host can therefore advance the pointer at any time, independently of the others.
// Setting a new view, which starts at pointer 0, needs no communication.
//
// Where locks do not exclude all other tasks, a second file, with `.lock` appended to the name, serves as a
// mutex. A task creates this file before it changes the pointer, and removes it afterwards. Only one task at
// a time succeeds in creating the file.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "mpiio/file/across_hosts.hpp"
#include "storage/file.hpp"

namespace sheaf::mpiio {

class SharedPointer {
 public:
  // Creates an object without accessing files. Local. `tasks` is the number of tasks of the file. `id` is the
  // same on all tasks and differs between opens.
  SharedPointer(Store& store, const std::string& path, uint64_t id, int64_t tasks,
                const VisibilityPolicy& policy);

  // Returns the pointer and advances it by `bytes`. Thread-safe; excludes other tasks. Throws the error of
  // File::lock() if another task does not release the pointer in time.
  int64_t claim(int64_t bytes);
  void set(int64_t position);

  // Starts a new view with its own pointer at 0. All tasks must make the same number of calls.
  void begin_view() {
    const std::lock_guard lock(mutex_);
    ++views_;
  }

  // Returns true if this task has tried to use the pointer, so that the sidecar file may exist.
  bool used() const { return used_; }
  // close() closes this task's descriptor of the sidecar file. One task calls remove() after all tasks have
  // called close(); `used` is true if any task has used the pointer.
  void close() {
    if (file_) file_->close();
    file_.reset();
  }
  void remove(bool used);

 private:
  template <class Change>
  int64_t change(Change next);
  enum class Owner : uint8_t { self, none, foreign };
  Owner owner_of(File& file) const;
  void open();
  std::shared_ptr<File> made_or_found();
  template <class Part>
  void while_alone(File& file, int64_t at, Part part);

  Store& store_;
  const std::string data_;
  const std::string path_;
  const uint64_t id_;
  const int64_t tasks_;
  const VisibilityPolicy policy_;
  std::mutex mutex_;
  std::shared_ptr<File> file_;
  int64_t views_ = 0;  // number of views before the current one
  std::atomic<bool> used_ = false;
};

}  // namespace sheaf::mpiio
