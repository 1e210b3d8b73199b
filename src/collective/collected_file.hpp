// collective/collected_file: a physical file as one task of a collectively written multifile sees it.
//
// Bytes are held until the task's group brings them to its collector. What does not fit the memory for that
// is written by the task itself: the bytes are the same either way, so nothing has to be agreed. The file is
// opened at the first use of its own, so that tasks which only send never touch it.
#pragma once

#include <memory>
#include <string>

#include "collective/held_bytes.hpp"
#include "collective/late_file.hpp"
#include "metadata/edges.hpp"
#include "storage/decorators/throttled_file.hpp"

namespace sheaf {

class CollectedFile final : public LateFile {
 public:
  // As LateFile. Writes to the file itself wait for a slot (null: they do not), and keep edges apart (null:
  // there are none). number: FileStatus::number that the file must have, 0: any.
  CollectedFile(Store& store, std::string path, std::shared_ptr<File> opened,
                std::shared_ptr<WriteSlots> slots, std::shared_ptr<Edges> edges, uint64_t number);
  // From now on only the collector writes: everything is held, and what would have to be written here is an
  // error.
  void leave_to_collector() { everything_ = only_collector_writes_ = true; }

  // From now on writes of less than `direct` bytes are held, as long as all held weighs at most `capacity`
  // bytes. 0: no more.
  void hold(int64_t capacity, int64_t direct);
  // Until bound_again() more is held: bytes that are sent in the same call. `everything`: nothing is written
  // by the task itself meanwhile.
  void begin_unbounded(bool everything = false);
  // Returns how many extents at the end hold what was written since begin_unbounded().
  size_t bound_again();

  // Held bytes, and those given to the collector which has not confirmed them.
  HeldBytes& held() { return held_; }
  HeldBytes& shipped() { return shipped_; }
  // This task has written by itself, and nothing is held or shipped.
  bool has_all() const { return file_ && held_.empty() && shipped_.empty(); }
  // What is shipped is in the file; what is held is now shipped.
  void ship();
  // What is shipped is held again, in front of what is held.
  void take_back();

  // Writes what is held, and what is shipped and not confirmed as well. Throws, with all held as before.
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
  HeldBytes held_;
  HeldBytes shipped_;
  int64_t capacity_ = 0;
  int64_t direct_ = 0;
  bool unbounded_ = false;
  bool everything_ = false;
  bool only_collector_writes_ = false;
  size_t before_ = 0;   // extents held before begin_unbounded()
  bool alone_ = false;  // a write of its own has failed: the order of its bytes is now its own affair
};

}  // namespace sheaf
