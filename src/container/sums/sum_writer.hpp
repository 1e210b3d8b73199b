// container/sums/sum_writer: keeps the checksums of a container right while processes of its host write to it
// (docs/format.md, section 19, "Checksums").
//
// What a killed process leaves: blocks whose words say that nothing is known, never a checksum that the bytes
// do not have. Everything is called under the lock of the stream. Throws what reading and writing throw; then
// the blocks concerned are without a checksum.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "container/sums/parts.hpp"
#include "container/sums/shared_sums.hpp"
#include "storage/file.hpp"

namespace sheaf {

// Words of the container of this host.
class SumWords {
 public:
  virtual ~SumWords() = default;
  virtual void read_words(int64_t at, std::span<uint64_t> words) = 0;
  virtual void write_words(int64_t at, std::span<const uint64_t> words) = 0;
};

// Bytes that are given back to the file system, and the words that were theirs.
struct UnusedBytes {
  int64_t place = 0;
  int64_t bytes = 0;
  BlockSums kept = {};  // of the block whose first bytes are kept; no room: there is none
  struct Words {
    int64_t at = 0;
    int64_t count = 0;
  };
  std::vector<Words> words = {};
};

class SumWriter {
 public:
  // All of them outlive it.
  SumWriter(File& file, SumWords& words, HostMemory& memory) : file_(file), words_(words), memory_(memory) {}

  // Of a piece that begins a room.
  struct Fresh {
    std::vector<uint64_t> slots;  // of whole blocks
    uint64_t end = 0;             // end word
  };
  static Fresh fresh(WriteParts parts, int64_t done, int64_t bytes);

  // Before bytes are appended to a piece of `length` bytes which has slots for all blocks that become whole.
  void before_append(SharedSums& sums, SharedOverwrite& over, int64_t length);
  // Once bytes [done, done + bytes) of the parts are behind it: returns the end word, which is written with
  // the new length.
  uint64_t append(const SharedSums& sums, int64_t length, WriteParts parts, int64_t done, int64_t bytes);
  // The length has been written.
  static void after_append(SharedSums& sums, uint64_t end);

  // Calls write(), which puts bytes [done, done + bytes) of the parts at `place`, in the piece that
  // SharedSums are of; `length`: bytes of that, if it may grow, else 0.
  struct Target {
    uint64_t sums = 0;  // place of its SharedSums
    int64_t length = 0;
    int64_t place = 0;
  };
  void overwrite(const Target& target, SharedOverwrite& over, WriteParts parts, int64_t done, int64_t bytes,
                 const std::function<void()>& write);
  // Writes the checksum of the block that is written over.
  void settle(SharedOverwrite& over);

  // What is to be given back: bytes from `place` on to `end` of a piece.
  UnusedBytes unused(const SharedSums& sums, int64_t place, int64_t end);
  // Before they are.
  void give_up(const UnusedBytes& unused);

 private:
  // A block, and what of it is written over.
  struct Change {
    int64_t block = 0;
    FoundSum found = {};
    int64_t begin = 0;    // in the block
    int64_t end = 0;      // in the block
    int64_t skipped = 0;  // bytes of the write before it
    uint32_t before = 0;  // checksum of what is replaced of the covered bytes
    bool is_all = false;  // all covered bytes are replaced
  };

  void mend(SharedSums& sums, int64_t length);
  FoundSum find(const SharedSums& sums, int64_t block);
  Change change_of(const SharedSums& sums, int64_t block, int64_t place, int64_t bytes) const;
  void look_before(const SharedSums& sums, Change& change);
  static void finish(Change& change, WriteParts parts, int64_t done);
  void overwrite_block(const Target& target, SharedOverwrite& over, WriteParts parts, int64_t done,
                       int64_t bytes, const std::function<void()>& write);
  void write_word(int64_t at, uint64_t word) { words_.write_words(at, {&word, 1}); }
  void write_all(SharedSums& sums, std::span<const Change> changes);

  File& file_;
  SumWords& words_;
  HostMemory& memory_;
};

}  // namespace sheaf
