#include "mpiio/file/shared_pointer.hpp"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/checked.hpp"
#include "base/non_copyable.hpp"
#include "comm/agree.hpp"
#include "storage/beside.hpp"
#include "storage/range_lock.hpp"
#include "storage/retries.hpp"

namespace sheaf::mpiio {

namespace {

// A mutex that spans hosts. The task that succeeds in creating a file of this name holds it and removes the
// file to release it. Waiting tasks poll with a backoff.
class NameLock : private NonCopyable {
 public:
  // Acquires the mutex. Throws io with errno EAGAIN if another task holds it for longer than `timeout`.
  NameLock(Store& store, std::string path, std::chrono::milliseconds timeout)
      : store_(store), path_(std::move(path)) {
    for (Backoff backoff(lock_backoff);; backoff.wait()) {
      try {
        make_beside(store_, path_)->close();
        return;
      } catch (const Error& e) {
        if (e.errno_value() != EEXIST && e.errno_value() != ESTALE) throw;
      }
      if (backoff.waited() > timeout)
        throw Error(Code::io,
                    "another task has not removed '" + path_ + "' for " +
                        std::to_string(timeout.count() / 1000) + " s",
                    EAGAIN);
    }
  }
  ~NameLock() {
    attempt([&] { store_.remove(path_); });
  }

 private:
  Store& store_;
  const std::string path_;
};

std::string beside(const std::string& path, uint64_t id) {
  const size_t slash = path.rfind('/') + 1;  // 0: no directory part
  char number[17];
  std::snprintf(number, sizeof number, "%016llx", static_cast<unsigned long long>(id));
  return path.substr(0, slash) + "." + path.substr(slash) + ".pointer." + number;
}

}  // namespace

SharedPointer::SharedPointer(Store& store, const std::string& path, uint64_t id, int64_t tasks,
                             const VisibilityPolicy& policy)
    : store_(store), data_(path), path_(beside(path, id)), id_(id), tasks_(tasks), policy_(policy) {}

// Creates the sidecar file or opens an existing one. Retries on hosts with separate page caches, because
// another host may be creating the file at the same moment.
std::shared_ptr<File> SharedPointer::made_or_found() {
  const std::chrono::seconds timeout = policy_.needs_revalidation() ? name_timeout : std::chrono::seconds(0);
  return with_retries(timeout, [&](bool last) -> std::shared_ptr<File> {
    try {
      return make_beside(store_, path_);
    } catch (const Error& e) {
      if (e.errno_value() != EEXIST && e.errno_value() != ESTALE) throw;
    }
    try {
      return open_beside(store_, path_, data_);
    } catch (const Error& e) {
      if (last || (e.errno_value() != ESTALE && e.code() != Code::not_found)) throw;
    }
    return nullptr;
  });
}

// Returns the owner that the sidecar file names. A file with only a part of this open's identity has no owner
// yet, because the write of the identity may have failed half-way.
SharedPointer::Owner SharedPointer::owner_of(File& file) const {
  uint64_t found = 0;
  const size_t bytes = file.read_at(std::as_writable_bytes(std::span(&found, 1)), 0);
  if (bytes == sizeof found && found == id_) return Owner::self;
  return found == 0 || std::memcmp(&found, &id_, bytes) == 0 ? Owner::none : Owner::foreign;
}

// Opens the sidecar file. The first task that does so writes the identity of the open into the first 8 bytes.
void SharedPointer::open() {
  if (file_) return;
  std::shared_ptr<File> file = made_or_found();
  wrap(policy_, file);
  file->expect_lockers(tasks_);
  while_alone(*file, 0, [&] {
    const Owner owner = owner_of(*file);
    if (owner == Owner::self) return;
    if (owner == Owner::foreign)
      throw file_error(Code::foreign, path_, "is not the shared file pointer of '" + data_ + "'");
    file->write_at(std::as_bytes(std::span(&id_, 1)), 0);
    policy_.publish(*file);
  });
  file_ = std::move(file);
}

// Calls `part` while no other task runs a call on the 8 bytes at `at`.
template <class Part>
void SharedPointer::while_alone(File& file, int64_t at, Part part) {
  constexpr int64_t length = sizeof(int64_t);
  if (policy_.excludes()) {
    const RangeLock lock = file.lock(at, length, true);
    return part();
  }
  const NameLock lock(store_, path_ + ".lock", lock_timeout(tasks_, length));
  policy_.revalidate(file);
  part();
}

template <class Change>
int64_t SharedPointer::change(Change next) {
  const std::lock_guard lock(mutex_);
  used_ = true;  // even if the first use fails, which may have created the file
  open();
  const int64_t at = (1 + views_) * static_cast<int64_t>(sizeof(int64_t));
  int64_t before = 0;
  while_alone(*file_, at, [&] {
    const auto found = std::as_writable_bytes(std::span(&before, 1));
    if (file_->read_at(found, at) < found.size()) before = 0;
    const int64_t position = next(before);
    if (position != before) file_->write_at(std::as_bytes(std::span(&position, 1)), at);
    policy_.publish(*file_);
  });
  return before;
}

int64_t SharedPointer::claim(int64_t bytes) {
  return change(
      [bytes](int64_t before) { return must_fit(checked_add(before, bytes), "the shared file pointer"); });
}

void SharedPointer::set(int64_t position) {
  change([position](int64_t) { return position; });
}

// Removes the sidecar file unless it belongs to another open. If any task has used the pointer, the file may
// exist although this host does not see it yet; made_or_found() then finds or creates it. Writes nothing,
// because the failure of a first use may have been a failing write.
void SharedPointer::remove(bool used) {
  if (!(used && policy_.needs_revalidation()) && !store_.status(path_).exists) return;
  std::shared_ptr<File> file;
  try {
    file = made_or_found();
    wrap(policy_, file);
  } catch (const Error& e) {
    if (e.code() == Code::foreign || !store_.status(path_).exists) return;  // the file is already removed
    throw;
  }
  const Owner owner = owner_of(*file);
  file->close();
  if (owner != Owner::foreign) store_.remove(path_);
}

}  // namespace sheaf::mpiio
