// multifile/writer/task_streams: the streams of the tasks of this process in a multifile open for writing.
// One task is current; the states of the others are parked. Writing is local. Not thread-safe.
#pragma once

#include <exception>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "base/non_copyable.hpp"
#include "comm/agree.hpp"
#include "multifile/stream/failed_writes.hpp"
#include "multifile/stream/overruns.hpp"
#include "multifile/writer/opened_set.hpp"

namespace sheaf::multifile {

class TaskStreams : private NonCopyable {
 public:
  std::span<const OwnTask> tasks() const { return set_.tasks; }
  int64_t task() const {  // number of the current task; -1: none
    const size_t index = set_.compressed && set_.compressed->left ? *set_.compressed->left : current_;
    return set_.tasks.empty() ? -1 : set_.tasks[index].task;
  }
  // Makes another task of this process current, at its last position. Throws out_of_range.
  void select(int64_t task);
  FileFacts facts() const;  // facts of the current task
  // Returns the path of the current task's file.
  const std::string& path() const { return set_.stream->target().file().path(); }
  int64_t bytes_held() const;
  // Returns the stream that the program writes to. It takes uncompressed bytes.
  WriteStream& stream() { return set_.plain(); }
  // Returns what the program has written to a task of this process, before compression.
  const TaskBlocks& blocks_of(int64_t task);

  // Runs act(), which appends the bytes of one call of the program (`head` and `body`) to the current task's
  // stream. Throws what act() throws. After a failure, commit() and close() fail until the task's stream
  // continues with the same bytes (multifile/stream/failed_writes).
  template <class Act>
  void append(std::span<const std::byte> head, std::span<const std::byte> body, Act&& act) {
    const FailedWrites::WriteRequest request{stray_.why ? stray_.task : task(), head, body};
    try {
      if (const auto problem = attempt([&] { stray_.why ? std::rethrow_exception(stray_.why) : act(); }))
        refuse(request, *problem);
    } catch (const std::bad_alloc&) {  // no memory for the error object
      failed_.fail_unremembered(request);
      throw;
    }
    if (failed_.any()) failed_.accept(request);
  }
  // Records that the program could not select `task` of this process. append() throws `why` until a select()
  // succeeds, so that no bytes reach the wrong task. Must not be called in collective writing.
  void stray(int64_t task, const Error& why) noexcept { stray_ = {task, std::make_exception_ptr(why)}; }
  // Returns true if an append() or select() failed and was not repeated. Then all bytes must pass append().
  bool awaits_retry() const { return stray_.why || failed_.any(); }
  // Sets the right to write the multifile, at the first task. Flush and close fail once it is lost.
  void own(std::shared_ptr<Ownership> ownership) {
    if (ownership || set_.rights) made_if_null(set_.rights).ownership = std::move(ownership);
  }

  // Writes all bytes of the tasks of this process to the files, so that they survive the end of the program
  // (WriteStream::commit). Local. Throws afterwards if an append() has failed and was not repeated.
  void commit();

 protected:
  // Makes the first task of `set` current.
  explicit TaskStreams(OpenedSet set);
  ~TaskStreams() = default;
  void enter(size_t index);

  OpenedSet set_;

 private:
  friend class CloseProtocol;
  friend class DeferredClose;

  // For the close. Writes all bytes to the files or boundary files. Collective in collective writing. Returns
  // the error of this process, if any.
  std::optional<Error> end();
  // For the close, after end(). Closes the program's handles, and parks the current task and its journal.
  void park_all();
  // Throws if bytes of a parked task were lost because the program wrote beyond a chunk through its own
  // handle. `sums` is the result of TaskBlocks::take_sums().
  void require_kept(size_t index, std::span<const uint32_t> sums) const;
  WrittenTask written(size_t index, std::span<const uint32_t> sums = {}) const;
  // Throws `foreign` if another program may write the files, and from then on at every call. Local.
  void require_ownership(Ownership::LeaseCheck look);

  void require_files_in_place() const;
  void park();
  void change_to(size_t next);
  void commit_frames();
  void come_back();
  void leave(size_t task);
  void record_progress();
  void report_parked(size_t file);
  [[noreturn]] void refuse(const FailedWrites::WriteRequest& request, const Error& why);

  struct Stray {
    int64_t task = -1;
    std::exception_ptr why = nullptr;  // null: the program could select its task
  };
  size_t current_ = 0;
  std::vector<uint8_t> unreported_;  // 1: the task was parked since the last commit; empty: none was
  OwnOverruns overruns_;
  FailedWrites failed_;
  Stray stray_;
};

}  // namespace sheaf::multifile
