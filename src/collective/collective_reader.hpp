// collective/collective_reader: collective reading (SIONlib's sion_coll_fread; gpfs-jugene section 5), the
// mirror of collective_writer: in a round every task tells the collector of its group where its stream goes
// on, the collector reads the pieces of all in the order of the file, with their checksums, and hands them
// out; each task compares its own; the calls until the next round are served from there. A task that needs
// other bytes in between reads them itself.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "collective/collective_group.hpp"
#include "collective/fetched_file.hpp"
#include "collective/group_transfer.hpp"
#include "stream/read_stream.hpp"

namespace sheaf {

class CollectiveReader {
 public:
  // Local. `file`: the tasks of the physical file; `stream` reads from `fetched`. All outlive the object, as
  // what `means` holds does. Throws if there is no memory for the messages to come.
  CollectiveReader(Comm& file, CollectiveGroup group, const CollectivePlan& plan, ReadStream& stream,
                   FetchedFile& fetched, const CollectiveMeans& means = {});

  // Collective over the tasks of the physical file; lengths may differ and be 0. Fills `out`, which the
  // stream must have bytes for. `mine`: what this task has found wrong so far. Throws on all tasks alike; the
  // streams are then where they were before the call.
  void read(std::span<std::byte> out, const std::optional<Error>& mine);

  const CollectiveGroup& group() const { return group_; }

 private:
  struct Wish;

  std::optional<Error> read_in_rounds(std::span<std::byte> out, std::optional<Error> problem);
  Wish next_wish(int64_t left) const;
  bool round(Wish& wish, std::optional<Error> mine);
  void plan_next(int64_t largest);

  Comm& file_;
  CollectiveGroup group_;
  ReadStream& stream_;
  FetchedFile& fetched_;
  const int64_t capacity_;  // bytes of a task per round
  const bool automatic_;
  const bool takes_part_;
  int64_t calls_left_ = 0;
  int64_t largest_ = 0;  // request of this task since the last round
  GroupTransfer transfer_;
};

}  // namespace sheaf
