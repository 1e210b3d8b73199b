// multifile/collective/aggregated_write_file: one task's view of a physical file that is written
// collectively.
//
// The object holds bytes until the task's group sends them to its collector. The task itself writes what
// exceeds the memory limit. Both ways store the same bytes, so the tasks need no agreement. The file is
// opened when the task first accesses it itself; a task that only sends never opens it.
#pragma once

#include <memory>
#include <string>

#include "multifile/collective/lazy_file.hpp"
#include "multifile/collective/pending_extents.hpp"
#include "multifile/metadata/edges.hpp"
#include "storage/decorators/throttled_file.hpp"

namespace sheaf {

class AggregatedWriteFile final : public LazyFile {
 public:
  // Constructs as LazyFile. Writes to the file itself wait for a slot of `slots`; null: no limit. They keep
  // boundary blocks in `edges`; null: there are no boundary blocks. number: FileStatus::number that the file
  // must have; 0: not checked.
  AggregatedWriteFile(Store& store, std::string path, std::shared_ptr<File> opened,
                      std::shared_ptr<WriteSlots> slots, std::shared_ptr<Edges> edges, uint64_t number);
  // Lets only the collector write from now on: all bytes are held, and a write by this task itself is an
  // error.
  void leave_to_collector() { everything_ = only_collector_writes_ = true; }

  // Holds writes of less than `direct` bytes from now on, as long as the held bytes and extents take at most
  // `capacity` bytes of memory. A `capacity` of 0 ends this.
  void hold(int64_t capacity, int64_t direct);
  // Suspends the memory limit until bound_again(), for bytes that the same call sends. everything: the task
  // itself writes nothing until then.
  void begin_unbounded(bool everything = false);
  // Restores the limit. Returns the number of trailing extents that hold the bytes written since
  // begin_unbounded().
  size_t bound_again();

  // Return the held bytes, and the bytes sent to the collector that it has not confirmed.
  PendingExtents& held() { return held_; }
  PendingExtents& shipped() { return shipped_; }
  // Returns true if this task has written all its bytes itself and none are held or shipped.
  bool has_all() const { return file_ && held_.empty() && shipped_.empty(); }
  // Marks held bytes as shipped. Bytes shipped before must be in the file; they are dropped.
  void ship();
  // Moves shipped bytes back to the front of the held ones.
  void take_back();

  // write_held() writes the held bytes; write_unconfirmed() also writes the shipped but unconfirmed ones.
  // After an exception all bytes are still held.
  void write_held();
  void write_unconfirmed();

  File& real() override;

  void write_at(std::span<const std::byte> data, int64_t offset) override;
  void write_pieces(std::span<const Piece<const std::byte>> pieces) override;
  size_t read_at(std::span<std::byte> data, int64_t offset) override { return real().read_at(data, offset); }
  FileStatus status() override { return real().status(); }
  void sync() override;
  void close() override;

 private:
  std::shared_ptr<WriteSlots> slots_;
  std::shared_ptr<Edges> edges_;
  const uint64_t number_;
  PendingExtents held_;
  PendingExtents shipped_;
  int64_t capacity_ = 0;
  int64_t direct_ = 0;
  bool unbounded_ = false;
  bool everything_ = false;
  bool only_collector_writes_ = false;
  size_t before_ = 0;   // number of extents held before begin_unbounded()
  bool alone_ = false;  // a direct write failed: only this task can order its bytes from then on
};

}  // namespace sheaf
