// streams/container/sums/sum_writer: keeps the checksums of a container consistent with the bytes that
// processes of its host write (docs/format.md, section 19, "Checksums").
//
// A killed process may leave words that say "unknown", never a checksum that does not match its bytes. The
// caller holds the lock of the stream. All functions throw the errors of reading and writing. After a
// failure, the blocks concerned have no checksum.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "storage/file.hpp"
#include "streams/container/sums/parts.hpp"
#include "streams/container/sums/shared_sums.hpp"

namespace sheaf::streams {

// Access to the checksum words of the host's container.
class SumWords {
 public:
  virtual ~SumWords() = default;
  virtual void read_words(int64_t at, std::span<uint64_t> words) = 0;
  virtual void write_words(int64_t at, std::span<const uint64_t> words) = 0;
};

// Bytes to be released to the file system, and their checksum words.
struct UnusedBytes {
  int64_t place = 0;
  int64_t bytes = 0;
  BlockSums kept = {};  // block of which only the last bytes are released; without a room: no such block
  struct Words {
    int64_t at = 0;
    int64_t count = 0;
  };
  std::vector<Words> words = {};
};

class SumWriter {
 public:
  // All arguments must outlive the writer.
  SumWriter(File& file, SumWords& words, HostMemory& memory) : file_(file), words_(words), memory_(memory) {}

  // The words of a new piece that begins a room.
  struct Fresh {
    std::vector<uint64_t> slots;  // of complete blocks
    uint64_t end = 0;             // end word
  };
  static Fresh fresh(WriteParts parts, int64_t done, int64_t bytes);

  // Prepares an append to a piece of `length` bytes. The piece must have slots for all blocks that the append
  // completes.
  void before_append(SharedSums& sums, SharedOverwrite& over, int64_t length);
  // Writes the slots of blocks that bytes [done, done + bytes) of the parts complete, after these bytes were
  // appended. Returns the end word, which the caller writes together with the new length.
  uint64_t append(const SharedSums& sums, int64_t length, WriteParts parts, int64_t done, int64_t bytes);
  // Completes an append after the length was written.
  static void after_append(SharedSums& sums, uint64_t end);

  struct OverwriteTarget {
    uint64_t sums = 0;  // place of the piece's SharedSums
    int64_t length = 0;
    int64_t place = 0;
  };
  // Overwrites bytes of a piece and updates the checksums. Calls write(), which must write bytes [done, done
  // + bytes) of the parts at OverwriteTarget::place. OverwriteTarget::length is the length of the piece if it
  // may grow, else 0.
  void overwrite(const OverwriteTarget& target, SharedOverwrite& over, WriteParts parts, int64_t done,
                 int64_t bytes, const std::function<void()>& write);
  // Writes the pending checksum of the overwritten block.
  void settle(SharedOverwrite& over);

  // Returns the description of the bytes of a piece from `place` to `end`, which the caller is about to
  // release.
  UnusedBytes unused(const SharedSums& sums, int64_t place, int64_t end);
  // Invalidates the words of unused bytes, and releases the bytes to the file system. The caller must have
  // removed them from their streams.
  void discard(const std::vector<UnusedBytes>& all);

 private:
  // A block and its overwritten extent.
  struct Change {
    int64_t block = 0;
    FoundSum found = {};
    int64_t begin = 0;    // offset in the block
    int64_t end = 0;      // offset in the block
    int64_t skipped = 0;  // bytes of the write that precede the block
    uint32_t before = 0;  // checksum of the replaced bytes before the write
    bool is_all = false;  // all covered bytes are replaced
  };

  void mend(SharedSums& sums, int64_t length);
  FoundSum find(const SharedSums& sums, int64_t block);
  Change change_of(const SharedSums& sums, int64_t block, int64_t place, int64_t bytes) const;
  void look_before(const SharedSums& sums, Change& change);
  static void finish(Change& change, WriteParts parts, int64_t done);
  void overwrite_block(const OverwriteTarget& target, SharedOverwrite& over, WriteParts parts, int64_t done,
                       int64_t bytes, const std::function<void()>& write);
  void write_word(int64_t at, uint64_t word) { words_.write_words(at, {&word, 1}); }
  void give_up(const UnusedBytes& unused);
  void write_all(SharedSums& sums, std::span<const Change> changes);

  File& file_;
  SumWords& words_;
  HostMemory& memory_;
};

}  // namespace sheaf::streams
