// storage/decorators/nearby_reads: reads ahead across the streams of a file.
//
// Small streams are next to each other in a multifile or a container, and so are their checksums. A program
// that reads stream after stream would cause two to four small requests per stream. If the file is on I/O
// listeners, each request is a message. Files from over() detect small reads at increasing offsets, and serve
// them from one large read. Isolated reads and large reads go to the file unchanged.
//
// For files with contents that do not change while they are open, or of which a reader may see an older state
// until it calls File::revalidate(). Sizes and offsets are in bytes. Thread-safe.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/export.hpp"
#include "base/non_copyable.hpp"
#include "storage/file.hpp"

namespace sheaf {

class SHEAF_EXPORT NearbyReads : private NonCopyable, public std::enable_shared_from_this<NearbyReads> {
 public:
  // Returns a File that reads from `file` as described above. All files share the memory of this object,
  // which lives as long as they do.
  std::shared_ptr<File> over(std::shared_ptr<File> file);

  // Does what File::read_at() of `file` does.
  size_t read(File& file, std::span<std::byte> data, int64_t offset);
  // Discards the bytes of the file.
  void discard(const File& file);

 private:
  using LaneBytes = std::shared_ptr<const std::vector<std::byte>>;
  // Bytes read ahead from one place of a file.
  struct ReadLane {
    const File* file = nullptr;  // null: unused
    int64_t read_to = 0;         // end of the last read
    int64_t begin = 0;           // offset of the bytes
    LaneBytes bytes = {};
    int64_t next_size = 0;  // bytes to read ahead next
    uint64_t used = 0;      // time of the last use
  };
  // Part of a read that the lanes could serve, or how to read ahead for it.
  struct LaneAnswer {
    LaneBytes bytes = {};  // null: none has all bytes
    size_t at = 0;         // index of the first one
    int64_t ahead = 0;     // bytes to read ahead; 0: none
  };

  LaneAnswer look_up(const File& file, int64_t offset, int64_t length);
  void keep(const File& file, int64_t offset, int64_t end, LaneBytes bytes);

  std::mutex mutex_;  // guards the following members
  std::array<ReadLane, 8> lanes_{};
  uint64_t clock_ = 0;
};

}  // namespace sheaf
