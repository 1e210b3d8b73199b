#include "mpiio/file/file_pointers.hpp"

#include <utility>

#include "base/checked.hpp"
#include "comm/reduce.hpp"
#include "mpiio/file/sequence.hpp"
#include "mpiio/file/shared_pointer.hpp"

namespace sheaf::mpiio {

FilePointers::FilePointers(Comm& comm, std::string path, Overlap overlap)
    : comm_(comm), path_(std::move(path)), overlap_(overlap), view_(std::make_shared<View>()) {}

FilePointers::~FilePointers() = default;

void FilePointers::begin(std::unique_ptr<SharedPointer> pointer, int64_t start) {
  pointer_ = std::move(pointer);
  individual_ = shared_base_ = start;
}

std::optional<Error> FilePointers::take_refused() {
  const std::lock_guard lock(mutex_);
  return std::exchange(refused_, std::nullopt);
}

void FilePointers::set_view(const View& view, Agreed when) {
  const auto problem = attempt([&] { require_usable(view, overlap_); });
  if (when == Agreed::immediate) agree(comm_, problem);
  pointer_->begin_view();
  shared_base_ = 0;
  const std::lock_guard lock(mutex_);
  refused_.reset();
  if (problem) {
    refused_ = Error(problem->code(), "task " + std::to_string(comm_.rank()) + " was refused a view of '" +
                                          path_ + "': " + problem->what());
    throw *problem;
  }
  view_ = std::make_shared<View>(view);
  individual_ = 0;
}

std::shared_ptr<const View> FilePointers::view() const {
  const std::lock_guard lock(mutex_);
  return view_;
}

int64_t FilePointers::claim_individual(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  const int64_t before = individual_;
  individual_ = must_fit(checked_add(before, bytes), "the file pointer");
  return before;
}

void FilePointers::seek_individual(int64_t position) {
  require_position(position);
  const std::lock_guard lock(mutex_);
  individual_ = position;
}

int64_t FilePointers::claim_shared(int64_t bytes) { return shared_base_ + pointer_->claim(bytes); }

int64_t FilePointers::shared_position() {
  await_all();
  return claim_by_task_0(comm_, 0);
}

void FilePointers::await_all() { agree(comm_, std::nullopt); }

void FilePointers::seek_shared(int64_t position) {
  MinMax places(position);
  agree(comm_, attempt([&] { require_position(position); }), places);
  if (!places.is_same())
    throw file_error(Code::invalid_argument, path_,
                     "the tasks move the shared file pointer to different places, from byte " +
                         std::to_string(places.min) + " to " + std::to_string(places.max));
  const auto problem =
      comm_.rank() == 0 ? attempt([&] { pointer_->set(position - shared_base_); }) : std::nullopt;
  agree_with(comm_, problem, 0);
}

int64_t FilePointers::claim_ordered(Sequence& sequence, int64_t bytes) {
  int64_t before = bytes, total = 0;
  sequence.comm().prefix_sum_and_total(std::span(&before, 1), std::span(&total, 1));
  return claim_by_task_0(sequence.comm(), total) + before;
}

int64_t FilePointers::claim_by_task_0(Comm& tasks, int64_t bytes) {
  int64_t before = 0;
  const auto problem = tasks.rank() == 0 ? attempt([&] { before = claim_shared(bytes); }) : std::nullopt;
  agree_with(tasks, problem, 0);
  tasks.broadcast(std::as_writable_bytes(std::span(&before, 1)), 0);
  return before;
}

}  // namespace sheaf::mpiio
