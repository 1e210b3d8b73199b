// multifile/stream/task_blocks: records the block sizes of a task that writes, and the checksums of their
// pieces.
//
// Checksums are computed from the bytes that go into the file. That is impossible if the program writes to
// the chunk itself, if a failed write is undone, or if the memory for a checksum cannot be allocated. Such
// pieces are marked as unknown and read back once at the end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "base/assert.hpp"
#include "base/byte_order.hpp"
#include "layout/chunk_layout.hpp"
#include "storage/file.hpp"

namespace sheaf::multifile {

// State needed to park a stream and to write its row of the block table. Kept small, because tools and mapped
// programs have one for each of many tasks.
struct TaskBlocks {
  // Pieces [first, last) of a block.
  struct Pieces {
    int64_t block;
    int64_t first;
    int64_t last;
  };
  // Bytes that the program itself wrote beyond chunk `chunk` (multifile/stream/overruns).
  struct Overrun {
    int64_t chunk;
    int64_t bytes;
    int64_t kept;  // bytes moved to the following chunks
  };
  // State of tasks that wrote more than one piece.
  struct Past {
    std::vector<int64_t> finished;  // sizes of the blocks before the current one
    std::vector<uint32_t> sums;     // checksums of finished blocks, then of whole pieces of the current one
    int64_t current_sums = 0;       // index in `sums` of the current block's first checksum
    std::vector<Pieces> unknown;    // pieces that may differ from their entry in `sums`
    std::vector<Overrun> overruns;
    size_t overruns_seen = 0;  // overruns processed by see_overruns()
  };

  std::unique_ptr<Past> past = {};
  int64_t position = 0;       // next byte in the current chunk
  int64_t high = 0;           // bytes used of the current chunk, >= position
  uint32_t running = 0;       // checksum of the partial piece before `position`
  uint32_t piece : 31 = 0;    // bytes per checksum; 0: no checksums
  uint32_t unsummed : 1 = 0;  // all sums of the current block are unknown

  static TaskBlocks with_sums(uint32_t piece) {
    TaskBlocks blocks;
    blocks.piece = piece;
    return blocks;
  }

  // Returns true if take_sums() will read from the file.
  bool reads_back() const {
    return piece > 0 && (unsummed || (past && (!past->unknown.empty() || position != high)));
  }

  int64_t count() const { return (past ? std::ssize(past->finished) : 0) + 1; }
  int64_t size_of(int64_t block) const {
    return block + 1 < count() ? past->finished[static_cast<size_t>(block)] : high;
  }
  int64_t total() const {
    return past ? std::accumulate(past->finished.begin(), past->finished.end(), high) : high;
  }

  // Accounts for `bytes`, written to the chunk at `position`, and advances the position.
  void advance(std::span<const std::byte> bytes) noexcept {
    sum(bytes, 0);
    move(std::ssize(bytes));
  }
  // State of the checksums, which return_to() restores.
  struct ChecksumState {
    uint32_t running;
    size_t whole;
  };
  ChecksumState sums() const { return {running, past ? past->sums.size() : 0}; }
  // The following calls do the same as advance() for bytes written in parts. sum() adds the checksums of a
  // part, which begins `ahead` bytes after `position`. After all parts, move() advances the position. If a
  // part could not be written, return_to() restores the checksums instead.
  void sum(std::span<const std::byte> bytes, int64_t ahead) noexcept;
  void move(int64_t bytes) {
    SHEAF_DEBUG_ASSERT(bytes >= 0);
    position += bytes;
    high = std::max(high, position);
  }
  void return_to(const ChecksumState& before) noexcept {
    running = before.running;
    if (past) past->sums.resize(before.whole);
  }
  // Notes that the program may write to the current chunk itself.
  void share() { unsummed = piece > 0; }
  // Ends the current chunk, which has `chunk_size` bytes, and makes the next one current. If an allocation
  // fails, throws and leaves the position unchanged.
  void finish_block(int64_t chunk_size);
  // Returns to an earlier position; the bytes before it must be unchanged. Undoes a write that failed for
  // lack of memory, so it needs none.
  void return_to(int64_t block, int64_t to, int64_t highest, int64_t chunk_size) noexcept;
  // Continues after the data of an earlier program (append). `sizes` are those of its blocks, `sums` their
  // checksums without that of a partial last piece. The caller must set the latter.
  void continue_behind(std::span<const int64_t> sizes, std::vector<uint32_t> sums = {});

  // Returns the checksums of all blocks, in the order of the format. All bytes must be in `file`; unknown
  // checksums are computed from it.
  std::vector<uint32_t> take_sums(File& file, const layout::ChunkGeometry& geometry);
  // Returns the index of the first checksum of `pieces` in the result of take_sums(), or nullopt if any of
  // `pieces` was read back.
  std::optional<int64_t> find_sums(const Pieces& pieces, int64_t chunk_size) const;

  std::span<const Overrun> overruns() const {
    return past ? std::span<const Overrun>(past->overruns) : std::span<const Overrun>();
  }
  std::span<const Overrun> new_overruns() const {
    return past ? overruns().subspan(past->overruns_seen) : overruns();
  }
  void see_overruns() { past->overruns_seen = past->overruns.size(); }
  Overrun& add_overrun(int64_t bytes) {
    return make_past().overruns.emplace_back(Overrun{count() - 1, bytes, 0});
  }

 private:
  Past& make_past() {
    if (!past) past = std::make_unique<Past>();
    return *past;
  }
  template <class Note>
  void note(Note&& allocate_and_store) noexcept;
  int64_t sums_before(int64_t block, int64_t chunk_size) const;
  void end_sums(int64_t chunk_size);
  void forget_behind(int64_t block, int64_t to, int64_t chunk_size);
};

// Computes the checksums of `bytes` bytes of `file` at `offset`, one per `piece` bytes and one for the
// remainder; stops when `sums` is full. Bytes beyond the end of the file count as zeros. Reads at most 512
// KiB, or one piece, at a time.
void sum_pieces(File& file, int64_t offset, int64_t bytes, uint32_t piece, std::span<uint32_t> sums);

// Encodes the row of a task in native byte order and appends it to `rows`. The row consists of:
//   its number in the metadata arrays;
//   the number of blocks, and whether the task may have begun a journal;
//   the number of checksums, the block sizes, and the checksums.
// If there are more than `max_sums` checksums, the row contains none; the task sends them in rounds
// (multifile/metadata/slice_sums).
void append_row(std::vector<std::byte>& rows, int64_t row, const TaskBlocks& blocks, bool may_have_journal,
                std::span<const uint32_t> sums, int64_t max_sums);

// A view of a row that append_row() has encoded. If `at` is null, there is no row.
class RowView {
 public:
  explicit RowView(const std::byte* at = nullptr) : at_(at) {}
  bool empty() const { return at_ == nullptr; }
  int64_t row() const { return word(0); }
  int64_t blocks() const { return word(1) >> 1; }
  bool may_have_journal() const { return (word(1) & 1) != 0; }
  int64_t sums() const { return empty() ? 0 : sums_follow() ? ~word(2) : word(2); }
  int64_t size_of(int64_t block) const { return word(3 + block); }
  bool sums_follow() const { return !empty() && word(2) < 0; }
  // Returns the checksums stored in the row.
  std::span<const std::byte> sums_here() const {
    if (empty() || sums_follow()) return {};
    return {at_ + 8 * (3 + blocks()), static_cast<size_t>(4 * sums())};
  }
  size_t bytes() const { return static_cast<size_t>(8 * (3 + blocks())) + sums_here().size(); }

 private:
  int64_t word(int64_t number) const {
    SHEAF_DEBUG_ASSERT(at_);
    return load<int64_t>(at_ + 8 * number, native_order);
  }
  const std::byte* at_;
};

}  // namespace sheaf::multifile
