// collective/collective_writer: collective writing (SIONlib's sion_coll_fwrite; gpfs-jugene section 5).
//
// Small pieces of many tasks reach the file through few of them. A collective write leaves its bytes with the
// task; after a number of calls that all tasks of the physical file know, a *round* brings them to the
// collector of each group, which writes them in the order of the file while the others go on. A task that
// would have to hold more than its share writes itself. So memory is bounded, tasks may write on their own in
// between as they like, and nothing has to be in step but the collective calls. Each task hands over what it
// has and where it belongs (collective/group_transfer). Large requests make every call a round, at whose end
// the bytes are in the file.
//
// Chunks that are complete are recorded in the journal by the collector, behind the bytes of the round that
// completes them; what a task writes itself, it records itself.
//
// Failures: a collector's failure to write is told in the next round, or at the close, on all tasks of the
// physical file. Until a collector confirms, a task keeps what it has sent, and sends it again: no byte is
// lost by a failure that goes away.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "collective/collected_file.hpp"
#include "collective/collective_group.hpp"
#include "collective/group_transfer.hpp"
#include "stream/write_stream.hpp"

namespace sheaf {

class CollectiveWriter {
 public:
  // Local. `file`: the tasks of the physical file; `stream` writes to `collected`. All outlive the object, as
  // what `means` holds does. Throws if there is no memory for the messages to come.
  CollectiveWriter(Comm& file, NewGroups groups, const CollectivePlan& plan, WriteStream& stream,
                   std::shared_ptr<CollectedFile> collected, const CollectiveMeans& means = {});

  // Collective over the tasks of the physical file; `data` may differ in length and be empty. `mine`: what
  // this task has found wrong so far; it then brings no data. Throws on all tasks alike what happened in a
  // round. Outside of a round only bad arguments, a chunk of size 0 and lack of memory are errors, at once on
  // the task that has them, and in the next round on all. After an error the streams are as they were before
  // the call.
  void write(std::span<const std::byte> data, const std::optional<Error>& mine);

  // Collective: the rest of what is held. Returns, on one task at least, why it could not be brought into the
  // file.
  std::optional<Error> finish();

  // Local: this task's bytes that no collector has confirmed are written by the task itself.
  void flush() { collected_->write_unconfirmed(); }

  const CollectiveGroup& group() const { return group_; }

 private:
  enum class Kind : uint8_t { write_behind, at_once, last };

  bool is_collector() const { return group_.is_collector(); }
  void write_between(std::span<const std::byte> data);
  [[noreturn]] void tell_all(const Error& problem);
  void write_now(std::span<const std::byte> data, const std::optional<Error>& mine);
  void write_merged(std::span<const std::byte> data, const std::optional<Error>& mine);
  void round(Kind kind, std::optional<Error> mine);
  std::optional<Error> write_large_ones();
  std::optional<Error> bring(const HeldBytes& held, const GroupTransfer::Load& largest);
  [[noreturn]] void refuse(const std::optional<Error>& mine);
  JournalWriter* journal() { return merge_ ? nullptr : stream_.make_journal(); }
  void record_chunks(int64_t most);
  void plan_next(int64_t largest);

  Comm& file_;
  CollectiveGroup group_;
  WriteStream& stream_;
  std::shared_ptr<CollectedFile> collected_;
  const int64_t capacity_;  // bytes that a task holds, and gives to its collector in one step
  const bool merge_;
  const bool automatic_;
  const bool takes_part_;
  const bool spans_hosts_;
  Mover* const mover_;      // null: bytes travel in messages
  bool at_once_ = false;    // every call is a round
  int64_t calls_left_ = 0;  // without a round
  int64_t calls_between_ = 1;
  int64_t largest_ = 0;          // request of this task since the last round
  std::optional<Error> behind_;  // what the others have not been told yet
  GroupTransfer transfer_;
};

}  // namespace sheaf
