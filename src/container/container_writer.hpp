// container/container_writer: how one process writes to the container of its host (docs/format.md, section
// 19).
//
// It has a stretch for bytes of streams, takes the next one when that is full, and shares it with nobody.
// Where the file system lets files be mapped, it has an area of its own for records, too, and stores them
// into the mapped file: that costs no system call, and is there as well if the process is killed. Where it
// does not, hosts are apart, and others look for what is new: there all processes append to one area after
// the other, so that what is new is in one place, and a small file is a record with its bytes inside.
//
// Threads: any. Forks: before_fork() on the thread that forks, then after_fork() on both sides. Throws what
// writing to files throws.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "container/container_contents.hpp"
#include "container/shared_streams.hpp"
#include "container/sums/sum_writer.hpp"
#include "storage/file.hpp"

namespace sheaf {

class ContainerWriter final : public SumWords {
 public:
  // `mapped`: mappings agree with reads. Both outlive the writer.
  ContainerWriter(File& file, SharedStreams& streams, bool mapped)
      : file_(file), streams_(streams), mapped_(mapped) {}

  // Makes the container empty: a header, a table of areas, and if there is room for it the spare area.
  static void begin(File& file, const format::ContainerHeader& header, bool mapped);
  // Where it was written to in the other way before, readers must know.
  static void begin_log(File& file);

  // The spare area of a container that nobody writes to.
  static RecordArea spare_of(const ContainerContents& contents);

  // Appends a record; returns its place. On a full disk removals, sizes and failures are written as long as
  // the spare area has room.
  int64_t record(const format::ContainerRecord& record);

  // Whether so many bytes of a piece may be in its record.
  bool takes_inside(int64_t bytes) const;
  // A record of a piece with its bytes; returns its place. Theirs is piece_head_size() behind it.
  int64_t record_with(format::ContainerRecord piece, std::span<const std::byte> data);

  // A piece has grown. `record`: the place of its record, whoever has written it; `end_word`: 0 if it begins
  // no room.
  void note_length(int64_t record, int64_t length, int64_t modified, uint64_t end_word);

  void read_words(int64_t at, std::span<uint64_t> words) override;
  void write_words(int64_t at, std::span<const uint64_t> words) override;

  // Room for `least` bytes of a stream, better for `wanted` >= least.
  struct Room {
    int64_t place = 0;
    int64_t bytes = 0;
  };
  Room room(int64_t least, int64_t wanted);
  // `wanted` bytes more behind room that ends at `end`; false: somebody has them.
  bool extend(int64_t end, int64_t wanted);

  // Says to other hosts that there is something new, unless they see it from records.
  void note_change() {
    if (mapped_) put_word(format::container_changes_at, static_cast<uint64_t>(streams_.tick()));
  }

  // The file is about to be synced.
  void note_sync() { put_word(format::container_synced_at, 1); }

  // A write to a stream has failed, and no record can tell of it.
  void note_failure() { put_word(format::container_failed_at, 1); }

  void before_fork() { mutex_.lock(); }
  void after_fork(bool in_child);

 private:
  struct LogArea {
    format::Area area;
    std::shared_ptr<std::byte> memory;  // null: not mapped
  };

  int64_t record_in_own_area(const format::ContainerRecord& record);
  int64_t record_in_log(const format::ContainerRecord& record, std::span<const std::byte> inside);
  std::optional<int64_t> record_in_spare(const format::ContainerRecord& record);
  int64_t record_in(RecordArea& area, format::ContainerRecord record, std::span<const std::byte> inside);
  std::byte* mapped_at(int64_t at);
  void take_back(int64_t place);
  void end_log();
  void put_word(int64_t place, uint64_t word);
  format::Area make_area(int64_t least, int64_t before);
  void next_area(int64_t least);
  void pass_over_entries();
  void enter(const format::Area& area);
  std::shared_ptr<std::byte> map(const format::Area& area);

  File& file_;
  SharedStreams& streams_;
  const bool mapped_;
  std::mutex mutex_;            // guards what follows
  std::vector<LogArea> areas_;  // the last ones, the newest at the end
  int64_t used_ = 0;            // bytes of the newest
  int64_t stretch_ = 0;         // place of what is free of the stretch
  int64_t stretch_end_ = 0;
  int64_t next_stretch_ = 0;  // bytes
  std::vector<std::byte> buffer_;
  std::shared_ptr<std::byte> header_;  // mapped; null: not yet, or never
};

}  // namespace sheaf
