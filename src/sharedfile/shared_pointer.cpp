#include "sharedfile/shared_pointer.hpp"

#include <array>
#include <cerrno>
#include <cstdio>

#include "base/byte_order.hpp"
#include "base/checked.hpp"
#include "storage/beside.hpp"

namespace sheaf {

namespace {

std::string beside(const std::string& path, uint64_t id) {
  const size_t slash = path.rfind('/') + 1;  // 0 if there is none
  char number[17];
  std::snprintf(number, sizeof number, "%016llx", static_cast<unsigned long long>(id));
  return path.substr(0, slash) + "." + path.substr(slash) + ".pointer." + number;
}

}  // namespace

SharedPointer::SharedPointer(Store& store, const std::string& path, uint64_t id, int64_t tasks)
    : store_(store), data_(path), path_(beside(path, id)), id_(id), tasks_(tasks) {}

// Its first 8 bytes say whose it is; all tasks write the same.
void SharedPointer::open() {
  if (file_) return;
  std::shared_ptr<File> file;
  try {
    file = store_.open(path_, Access::fresh);
  } catch (const Error& e) {
    if (e.errno_value() != EEXIST) throw;
    file = open_beside(store_, path_, data_);
  }
  uint64_t found = 0;
  file->read_at(std::as_writable_bytes(std::span(&found, 1)), 0);
  const bool begun = found != 0;
  if (begun && found != id_) throw file_error(Code::foreign, path_, "is not the shared file pointer of '" + data_ + "'");
  if (!begun) file->write_at(std::as_bytes(std::span(&id_, 1)), 0);
  file_ = std::move(file);
  file_->expect_lockers(tasks_);
}

template <class Change>
int64_t SharedPointer::change(Change next) {
  const std::lock_guard lock(mutex_);
  open();
  used_ = true;
  constexpr int64_t length = sizeof(int64_t);
  const int64_t at = (1 + views_) * length;
  file_->lock(at, length, true);
  try {
    int64_t position = 0;
    const auto bytes = std::as_writable_bytes(std::span(&position, 1));
    if (file_->read_at(bytes, at) < bytes.size()) position = 0;
    const int64_t before = position;
    position = next(before);
    if (position != before) file_->write_at(bytes, at);
    file_->unlock(at, length);
    return before;
  } catch (...) {
    file_->unlock(at, length);
    throw;
  }
}

int64_t SharedPointer::claim(int64_t bytes) {
  return change([bytes](int64_t before) { return must_fit(checked_add(before, bytes), "the shared file pointer"); });
}

void SharedPointer::set(int64_t position) {
  change([position](int64_t) { return position; });
}

void SharedPointer::begin_view() {
  const std::lock_guard lock(mutex_);
  ++views_;
}

void SharedPointer::close() {
  if (file_) file_->close();
  file_.reset();
}

void SharedPointer::remove() {
  if (!store_.status(path_).exists) return;
  try {
    open();
  } catch (const Error& e) {
    if (e.code() == Code::foreign) return;  // ours is gone
    throw;
  }
  close();
  store_.remove(path_);
}

}  // namespace sheaf
