// streams/container/container_writer: writes to the container of a host on behalf of one process
// (docs/format.md, section 19).
//
// A writer owns a stretch, an extent of the container for the bytes of streams, and allocates a new stretch
// when the old one is full. If the file system supports coherent mappings, the writer owns an area for
// records, too, and stores its records into the mapped file. A store needs no system call, and its bytes
// survive if the process is killed. Without coherent mappings, other hosts must search for new records. All
// processes of the host then append to one common log of areas, so that new records are in one place. A small
// stream is one record that contains its bytes.
//
// Threads: any. Forks: before_fork() on the forking thread, then after_fork() in parent and child. Throws the
// errors of writing to files.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/extent.hpp"
#include "format/container.hpp"
#include "storage/file.hpp"
#include "streams/container/index/container_index.hpp"
#include "streams/container/sums/sum_writer.hpp"

namespace sheaf::streams {

class ContainerWriter final : public SumWords {
 public:
  // `mapped`: mappings of the file are coherent with reads. `file` and `index` must outlive the writer.
  ContainerWriter(File& file, ContainerIndex& index, bool mapped)
      : file_(file), index_(index), mapped_(mapped), sums_(file, *this, index.memory()) {}

  SumWriter& sums() { return sums_; }

  // Appends a record and returns its place. On a full disk, the spare area takes removals, sizes and failures
  // while it has space.
  int64_t record(const format::ContainerRecord& record);

  // Returns whether a piece of `bytes` bytes may be stored inside its record.
  bool takes_inside(int64_t bytes) const;
  // Appends the record of a piece together with its bytes. Returns the place of the record; the bytes start
  // piece_head_size() bytes after it.
  int64_t record_with(format::ContainerRecord piece, std::span<const std::byte> data);

  // Updates the length of a piece that has grown. `record`: place of the piece's record, which any process of
  // the host may have written. `end_word`: 0 if the piece does not begin a room.
  void note_length(int64_t record, int64_t length, int64_t modified, uint64_t end_word);

  // Creates checksum slots for all blocks that end in the first `length` bytes of `piece`. The caller holds
  // the lock of the piece's stream.
  void make_slots(SharedPiece& piece, int64_t length);
  // Returns the bytes of the stream from `size` on that are in this container, for SumWriter::discard(). The
  // caller holds the lock of the stream, or the lock of names if no other handle has the stream open.
  std::vector<UnusedBytes> unused(const SharedStream& stream, int64_t size);

  void read_words(int64_t at, std::span<uint64_t> words) override;
  void write_words(int64_t at, std::span<const uint64_t> words) override;

  // Allocates space for bytes of a stream: `wanted` bytes if possible, at least `least`; least <= wanted.
  Extent room(int64_t least, int64_t wanted);
  // Extends the room that ends at `end` by `wanted` bytes. Returns false if the bytes after `end` are in use.
  bool extend(int64_t end, int64_t wanted);

  // Announces new records to other hosts if the container is mapped. Without mappings, appending to the log
  // announces them.
  void note_change() {
    if (mapped_) put_word(format::container_changes_at, static_cast<uint64_t>(index_.tick()));
  }

  // Records that the file is about to be synced.
  void note_sync() { put_word(format::container_synced_at, 1); }

  // Records that a write to a stream failed when no record can describe the failure.
  void note_failure() { put_word(format::container_failed_at, 1); }

  void before_fork() { mutex_.lock(); }
  void after_fork(bool in_child);

 private:
  struct LogArea {
    format::Area area;
    std::shared_ptr<std::byte> memory;  // null if not mapped
  };

  int64_t record_in_own_area(const format::ContainerRecord& record);
  int64_t record_in_log(const format::ContainerRecord& record, std::span<const std::byte> inside);
  std::optional<int64_t> record_in_spare(const format::ContainerRecord& record);
  int64_t record_in(RecordArea& area, format::ContainerRecord record, std::span<const std::byte> inside);
  std::byte* mapped_at(int64_t at);
  void end_log();
  void put_word(int64_t place, uint64_t word);
  format::Area make_area(int64_t least, int64_t before);
  void next_area(int64_t least);
  int64_t last_entries();
  void enter(const format::Area& area);
  std::shared_ptr<std::byte> map(const format::Area& area);

  File& file_;
  ContainerIndex& index_;
  const bool mapped_;
  SumWriter sums_;
  std::mutex mutex_;            // guards the following members
  std::vector<LogArea> areas_;  // most recent areas, newest last
  int64_t used_ = 0;            // bytes used in the newest area
  int64_t stretch_ = 0;         // place of the free part of the stretch
  int64_t stretch_end_ = 0;
  int64_t next_stretch_ = 0;  // size of the next stretch, bytes
  std::vector<std::byte> buffer_;
  std::shared_ptr<std::byte> header_;  // the mapped header; null if not mapped
};

}  // namespace sheaf::streams
