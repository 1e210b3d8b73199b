// mpiio/file/file_pointers: the view of a task of a shared file, and its file pointers.
//
// Positions are bytes of the view's stream. "Collective" and "local" have the meaning of
// mpiio/file/shared_file. Local calls may run on several threads at once.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "comm/comm.hpp"
#include "mpiio/file/file_access.hpp"
#include "mpiio/file/view.hpp"

namespace sheaf::mpiio {

class Sequence;
class SharedPointer;

class SHEAF_EXPORT FilePointers {
 public:
  int rank() const { return comm_.rank(); }
  const std::string& path() const { return path_; }

  // Time at which the tasks agree on an error of set_view().
  enum class Agreed : uint8_t { immediate, deferred };
  // Collective. Sets the view of this task and resets both pointers to 0. Throws invalid_argument for an
  // invalid view: displacement < 0, a file type without data, or a size that is no multiple of the etype. A
  // file type must not have decreasing offsets within an instance, nor overlap itself if the file is open for
  // writing. After an error, the task's old view stays in effect. Agreed::immediate: the error is thrown on
  // all tasks, and all keep their views. Agreed::deferred: the error is thrown on that task only, without
  // waiting. The next collective transfer then throws it on all tasks, unless all have set another view
  // before.
  void set_view(const View& view, Agreed when = Agreed::immediate);
  std::shared_ptr<const View> view() const;  // local

  // Local. Returns the individual pointer and advances it by `bytes` (0: query only).
  int64_t claim_individual(int64_t bytes);
  void seek_individual(int64_t position);
  // Local. Returns the pointer shared by all tasks and advances it by `bytes`. Waits for concurrent calls of
  // other tasks.
  int64_t claim_shared(int64_t bytes);
  // Collective. Returns the shared pointer after all tasks have entered the call, with the sizes of their
  // writes.
  int64_t shared_position();
  void seek_shared(int64_t position);  // collective; the same position on all tasks
  // Collective. Advances the shared pointer by the sum of the tasks' `bytes`. Returns the position of this
  // task's bytes, which follow the bytes of all lower ranks.
  int64_t claim_ordered(Sequence& sequence, int64_t bytes);

 protected:
  // Collective calls without a sequence use `comm`, which must outlive the object.
  FilePointers(Comm& comm, std::string path, Overlap overlap);
  virtual ~FilePointers();

  Comm& comm() const { return comm_; }
  // Collective. Waits until all tasks have entered.
  virtual void await_all();
  // Sets both pointers to `start`. Must be the first call.
  void begin(std::unique_ptr<SharedPointer> pointer, int64_t start);
  SharedPointer& shared_pointer() { return *pointer_; }
  // Returns and clears the error of a rejected view that is not yet reported to the other tasks.
  std::optional<Error> take_refused();

 private:
  int64_t claim_by_task_0(Comm& tasks, int64_t bytes);

  Comm& comm_;
  const std::string path_;
  const Overlap overlap_;  // whether file types of views may overlap themselves
  std::unique_ptr<SharedPointer> pointer_;
  int64_t shared_base_ = 0;   // start of the shared pointer
  mutable std::mutex mutex_;  // guards the members below
  std::shared_ptr<const View> view_;
  std::optional<Error> refused_;
  int64_t individual_ = 0;
};

}  // namespace sheaf::mpiio
