// multifile/collective/collective_reader: collective reading (SIONlib's sion_coll_fread; gpfs-jugene section
// 5), the mirror of collective_writer.
//
// In a round, every task sends the extents from the current position of its stream on to the collector of its
// group. The collector reads the extents and checksums of all members in file order and distributes the
// bytes. Each task verifies the bytes that it receives. Calls until the next round are served from these
// bytes. A task that needs other bytes in between reads them itself.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "multifile/collective/aggregated_read_file.hpp"
#include "multifile/collective/collective_group.hpp"
#include "multifile/collective/group_transfer.hpp"
#include "multifile/stream/read_stream.hpp"

namespace sheaf::multifile {

class CollectiveReader {
 public:
  // Allocates the memory for messages; throws if that fails. Local. `file` contains the tasks of the physical
  // file, and may be that of `means`. `stream` reads from `fetched`. `file`, `stream` and `fetched` must
  // outlive this object.
  CollectiveReader(Comm& file, const CollectiveGroup& group, const CollectivePlan& plan, ReadStream& stream,
                   AggregatedReadFile& fetched, CollectiveMeans means);

  // Fills `out` from the stream, which must have that many bytes. Collective over the tasks of the physical
  // file; lengths may differ and be 0. `mine` is an error that this task has found before the call, if any.
  // If any task has an error, the call throws on all tasks, and the streams keep the positions from before
  // the call.
  void read(std::span<std::byte> out, const std::optional<Error>& mine);

  const CollectiveGroup& group() const { return transfer_.group(); }

 private:
  struct RoundRequest;

  std::optional<Error> read_in_rounds(std::span<std::byte> out, std::optional<Error> problem);
  RoundRequest next_request() const;
  bool round(RoundRequest& request, int64_t left, std::optional<Error> mine);
  void plan_next(int64_t largest);

  const CollectiveMeans means_;
  Comm& file_;
  ReadStream& stream_;
  AggregatedReadFile& fetched_;
  const int64_t capacity_;  // bytes per task and round
  const bool automatic_;
  int64_t calls_left_ = 0;
  int64_t largest_ = 0;  // largest request of this task since the last round, in bytes
  GroupTransfer transfer_;
};

}  // namespace sheaf::multifile
