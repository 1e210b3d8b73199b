#include "storage/background/write_batch.hpp"

#include <utility>

namespace sheaf {

void WriteBatch::fail(const Error& why) {
  const std::lock_guard lock(mutex_);
  if (!failure_) {
    const auto unstored = attempt([&] { failure_ = why; });
    if (unstored) failure_ = unstored;  // needs no memory
  }
  is_sound_.store(false, std::memory_order_release);
}

void WriteBatch::give_up() {
  fail(*attempt([] { throw Error(Code::io, "the multifile was given up before it was saved"); }));
}

std::optional<Error> WriteBatch::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void WriteBatch::close_later(std::shared_ptr<File> file) {
  const std::lock_guard lock(mutex_);
  closed_.push_back(std::move(file));
}

void WriteBatch::sync_files() {
  std::vector<std::shared_ptr<File>> files;
  {
    const std::lock_guard lock(mutex_);
    files.swap(closed_);
  }
  for (const auto& file : files) {
    auto problem = is_sound() && !discards() ? attempt([&] { file->sync(); }) : std::nullopt;
    const auto unclosed = attempt([&] { file->close(); });
    if (!problem) problem = unclosed;
    if (problem && !discards()) fail(*problem);
  }
}

}  // namespace sheaf
