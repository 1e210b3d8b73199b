// multifile/collective/collective_writer: collective writing (SIONlib's sion_coll_fwrite; gpfs-jugene section
// 5).
//
// Few tasks write the small requests of many tasks to the file. A collective write leaves its bytes in the
// memory of the task. After a number of calls that all tasks of the physical file know, a *round* sends the
// bytes to the collector of each group. The collector writes them in file order while the other tasks
// continue. A task that would exceed its share of memory writes the bytes itself.
//
// So memory is bounded, tasks may also write independently between collective calls, and only collective
// calls synchronize tasks. Each task sends its bytes together with their offsets
// (multifile/collective/group_transfer). If requests are large, every call is a round, and the bytes are in
// the file when the call returns.
//
// After the collector has written the bytes of a round, it records the chunks that the round has completed in
// the journal. A task records the chunks that it writes itself.
//
// Failures: if a collector cannot write, all tasks of the physical file get the error in the next round, or
// at the close. A task keeps the bytes that it has sent until the collector confirms them, and sends them
// again after a failure. So a temporary failure loses no bytes.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "multifile/collective/aggregated_write_file.hpp"
#include "multifile/collective/collective_group.hpp"
#include "multifile/collective/group_transfer.hpp"
#include "multifile/stream/write_stream.hpp"

namespace sheaf::multifile {

class CollectiveWriter {
 public:
  // Allocates the memory for messages; throws if that fails. Local. `file` contains the tasks of the physical
  // file, and `stream` writes to `collected`. `file`, `stream` and the objects that `means` refers to must
  // outlive this object.
  CollectiveWriter(Comm& file, NewGroups groups, const CollectivePlan& plan, WriteStream& stream,
                   std::shared_ptr<AggregatedWriteFile> collected, const CollectiveMeans& means = {});

  // Appends `data` to the stream. Collective over the tasks of the physical file; lengths may differ and be
  // 0. `mine` is an error that this task has found before the call, if any; `data` is then ignored.
  //
  // An error within a round is thrown on all tasks alike. Outside of a round the only errors are bad
  // arguments, a chunk of size 0 and lack of memory. They are thrown at once on the task concerned, and on
  // all tasks in the next round. After an error the streams are as before the call.
  void write(std::span<const std::byte> data, const std::optional<Error>& mine);

  // Writes all bytes still held. Collective. If some bytes could not be written, at least one task returns
  // the error.
  std::optional<Error> finish();

  // Writes the bytes of this task that no collector has confirmed. Local.
  void flush() { collected_->write_unconfirmed(); }

  const CollectiveGroup& group() const { return transfer_.group(); }

 private:
  enum class RoundKind : uint8_t { write_behind, immediate, last };

  bool is_collector() const { return group().is_collector(); }
  void write_between(std::span<const std::byte> data);
  // Throws `problem` on this task now, and lets the next round throw it on the other tasks.
  [[noreturn]] void tell_all(const Error& problem) {
    if (!behind_) behind_ = problem;
    throw problem;
  }
  void write_now(std::span<const std::byte> data, const std::optional<Error>& mine);
  void write_merged(std::span<const std::byte> data, const std::optional<Error>& mine);
  void round(RoundKind kind, std::optional<Error> mine);
  std::optional<Error> prepare_round();
  std::optional<Error> write_large_ones();
  std::optional<Error> write_collected(const PendingExtents& held, const GroupTransfer::Load& largest);
  JournalWriter* journal() { return plan_.merge ? nullptr : stream_.target().make_journal(); }
  void record_chunks(int64_t most);
  void plan_next(int64_t largest);

  Comm& file_;
  WriteStream& stream_;
  std::shared_ptr<AggregatedWriteFile> collected_;
  const int64_t capacity_;  // bytes that a task holds, and sends to its collector in one step
  const CollectivePlan plan_;
  const bool takes_part_;
  const bool spans_hosts_;
  int64_t calls_left_ = 0;       // remaining calls without a round
  int64_t calls_between_ = 1;    // calls from one round to the next; 0: every call is a round
  int64_t largest_ = 0;          // largest request of this task since the last round, in bytes
  std::optional<Error> behind_;  // error that the next round reports to the other tasks
  GroupTransfer transfer_;
};

}  // namespace sheaf::multifile
