// multifile/collective/aggregated_write_file: one task's view of a physical file that is written
// collectively.
//
// The object holds written bytes until the group of the task sends them to the collector. The task itself
// writes the bytes that exceed its memory limit. The file gets the same bytes whether the task or the
// collector writes them, so the tasks need not agree on this. A task opens the file when it first accesses
// the file itself; a task that only sends bytes never opens it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/assert.hpp"
#include "multifile/collective/lazy_file.hpp"
#include "multifile/collective/pending_extents.hpp"
#include "multifile/metadata/boundary_blocks.hpp"
#include "storage/decorators/throttled_file.hpp"

namespace sheaf::multifile {

class AggregatedWriteFile final : public LazyFile {
 public:
  // `store`, `path` and `opened` are those of LazyFile. Each write of this task to the file waits for a slot
  // of `slots`, unless `slots` is null. Boundary blocks are written to `boundary_blocks`; if
  // `boundary_blocks` is null, there are none. `number` is the FileStatus::number that the file must have
  // when it is opened; 0 disables this check.
  AggregatedWriteFile(Store& store, std::string path, std::shared_ptr<File> opened,
                      std::shared_ptr<WriteSlots> slots, std::shared_ptr<BoundaryBlocks> boundary_blocks,
                      uint64_t number);
  // Lets only the collector write from now on. This task holds all bytes, and write_held() throws
  // `wrong_mode`.
  void leave_to_collector() { everything_ = only_collector_writes_ = true; }

  // Holds writes of less than `direct` bytes from now on, as long as the held bytes and extents take at most
  // `capacity` bytes of memory. The task itself writes other requests. A `capacity` of 0 disables holding.
  void hold(int64_t capacity, int64_t direct) {
    SHEAF_ASSERT(capacity >= 0 && direct >= 0);
    capacity_ = capacity;
    direct_ = direct;
  }
  // Suspends the memory limit until bound_again(), for bytes that the current collective call sends. If
  // `everything` is true, the task holds even requests of `direct` bytes or more until then.
  void begin_unbounded(bool everything = false) {
    before_ = held_.extents().size();
    held_.begin_part();
    everything_ = everything || only_collector_writes_;
  }
  // Restores the limit. Returns the number of extents added since begin_unbounded(); they are the last ones
  // of held().
  size_t bound_again() {
    everything_ = only_collector_writes_;
    const auto before = std::exchange(before_, std::nullopt);
    SHEAF_ASSERT(!before || held_.extents().size() >= *before);
    return before ? held_.extents().size() - *before : 0;
  }

  // held() returns the bytes that were not sent yet; shipped() returns the bytes that were sent to the
  // collector but not confirmed by it.
  PendingExtents& held() { return held_; }
  PendingExtents& shipped() { return shipped_; }
  // Returns true if this task has written all its bytes itself and none are held or shipped.
  bool has_all() const { return file_ && held_.empty() && shipped_.empty(); }
  // Marks the held bytes as shipped. Drops the bytes shipped earlier, which must be in the file.
  void ship() {
    std::swap(shipped_, held_);
    held_.clear();
  }
  // Moves the shipped bytes back, in front of the held bytes.
  void take_back() {
    shipped_.append(held_);
    std::swap(shipped_, held_);
  }

  // write_held() writes the held bytes to the file. write_unconfirmed() also writes the shipped bytes, which
  // the collector has not confirmed. If a call throws, the object still holds all bytes.
  void write_held();
  void write_unconfirmed();

  void write_at(std::span<const std::byte> data, int64_t offset) override;
  void write_pieces(std::span<const Piece<const std::byte>> pieces) override;
  size_t read_at(std::span<std::byte> data, int64_t offset) override { return real().read_at(data, offset); }
  FileStatus status() override { return real().status(); }
  void sync() override;
  void close() override;

 private:
  std::shared_ptr<File> open() override;

  std::shared_ptr<WriteSlots> slots_;
  std::shared_ptr<BoundaryBlocks> boundary_blocks_;
  const uint64_t number_;
  PendingExtents held_;
  PendingExtents shipped_;
  int64_t capacity_ = 0;
  int64_t direct_ = 0;
  bool everything_ = false;
  bool only_collector_writes_ = false;
  std::optional<size_t> before_;  // number of extents held before begin_unbounded(); none: bounded
  bool alone_ = false;  // a direct write failed; later writes are direct too, so that their order is kept
};

}  // namespace sheaf::multifile
