// multifile/deferred/deferred_close: the close of a multifile if its streams are compressed in the background
// (docs/async.md, "Compression").
//
// The size of a compressed stream is known when it is compressed, and the tables of a physical file contain
// the sizes of all its streams. So the tables are written in the background too, by the first task of the
// file. All tasks of a file are on one host. They pass their rows to the first task in memory that they
// share; no message is sent after begin().
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/non_copyable.hpp"
#include "comm/shared_memory.hpp"
#include "format/save_record.hpp"
#include "layout/placement.hpp"
#include "multifile/writer/writer.hpp"

namespace sheaf::multifile {

class DeferredClose : private NonCopyable {
 public:
  // Performs the part of the close that needs messages: agrees on whether all tasks have accepted all their
  // bytes, and exchanges what the tables contain besides the sizes. `host_tasks` are the tasks of this host.
  // Requires writer.captures_frames(). Collective; throws on all tasks alike. Returns null on all tasks if
  // those of a host cannot share memory; then call writer.close().
  static std::unique_ptr<DeferredClose> begin(Writer& writer, Comm& host_tasks);
  ~DeferredClose();

  // Takes the writer of begin() and the store of its files. Returns its communicators, which must be released
  // in a collective call.
  SetComms adopt(std::unique_ptr<Writer> writer, std::shared_ptr<Store> store);

  // Returns the identity of the set; zeros on tasks that complete no file, and if the set has none.
  format::Identity identity() const { return identity_; }

  enum class CloseProgress : uint8_t {
    works,  // there is more to do
    waits,  // for the rows of other tasks
    done,
  };
  // Performs a part of the work: compresses and writes a few frames, or writes the tables. Writes must pass
  // to the files at once (WriteBatch::write_through). Sends no messages. Local; any thread may call it.
  // Throws the errors of the file.
  CloseProgress advance();
  // After CloseProgress::done, returns what completes the file of which this task is the first; otherwise
  // nullopt.
  const std::optional<format::CompletionMark>& mark() const { return mark_; }

 private:
  struct RowArea;

  DeferredClose() = default;
  void learn_identity(const OpenedSet& set);
  bool share_rows(Writer& writer, Comm& host_tasks, std::optional<Error>& problem);
  void learn_mapping(const OpenedSet& set, std::optional<Error>& problem);
  void publish_row();
  CloseProgress write_tables();

  std::shared_ptr<Store> store_;  // outlives the writer
  std::unique_ptr<Writer> writer_;
  format::Identity identity_{};
  std::shared_ptr<SharedMemory> memory_;    // the rows of this host's tasks; null: one process has all tasks
  RowArea* own_ = nullptr;                  // in memory_
  std::vector<RowArea*> rows_;              // at the first task of a file: the rows of its tasks
  std::vector<layout::Placement> mapping_;  // at the first task of file 0, unless tasks can compute it
  size_t next_ = 0;                         // index of the task to store next
  bool is_published_ = false;               // the row of this task
  std::optional<format::CompletionMark> mark_;
};

}  // namespace sheaf::multifile
