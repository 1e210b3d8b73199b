// sharedfile/shared_pointer: the file pointer that all tasks share.
//
// It lives in a small file beside the data, made at its first use and removed at close: 8 bytes that say
// which open it belongs to, then 8 for each view that the file has had, changed under a lock. So any task can
// move it at any time, whatever the others do, and on whatever node they are; and a new view, whose pointer
// is 0, needs no word with the others.
//
// Where locks do not reach as far as the tasks, who changes it makes a second file meanwhile, `.lock` behind
// the name: only one can.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "sharedfile/across_hosts.hpp"
#include "storage/file.hpp"

namespace sheaf {

class SharedPointer {
 public:
  // `id`: the same on all `tasks` of the file, another for every open. Local, touches nothing.
  SharedPointer(Store& store, const std::string& path, uint64_t id, int64_t tasks, const AcrossHosts& across);

  // The position, which moves on by `bytes`. Thread-safe; other tasks are excluded. Throws what File::lock()
  // throws if they do not come to an end.
  int64_t claim(int64_t bytes);
  void set(int64_t position);

  // Another view: its own pointer, at 0. As often on all tasks.
  void begin_view() {
    const std::lock_guard lock(mutex_);
    ++views_;
  }

  // This task has used it, or tried to, so that there may be a file to be removed.
  bool used() const { return used_; }
  // Closes the file here; `remove`: one task does it, when all have closed theirs; `used`: by any of them.
  void close() {
    if (file_) file_->close();
    file_.reset();
  }
  void remove(bool used);

 private:
  template <class Change>
  int64_t change(Change next);
  enum class Owner : uint8_t { we, nobody_yet, others };
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
  const AcrossHosts across_;
  std::mutex mutex_;
  std::shared_ptr<File> file_;
  int64_t views_ = 0;  // before the present one
  std::atomic<bool> used_ = false;
};

}  // namespace sheaf
