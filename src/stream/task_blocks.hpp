// stream/task_blocks: what one task has written: the sizes of its blocks, and the checksums of their pieces.
//
// Checksums follow the bytes that go into the file. Where that is not possible (the program writes to the
// chunk itself, or a write has failed and is taken back), pieces are remembered as unknown, and read back
// once at the end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "base/byte_order.hpp"
#include "layout/chunk_layout.hpp"
#include "storage/file.hpp"

namespace sheaf {

// Enough to park a stream and to write its row of the block table. Small, since tools and mapped programs
// have one of many tasks.
struct TaskBlocks {
  // Pieces first..last-1 of a block.
  struct Pieces {
    int64_t block;
    int64_t first;
    int64_t last;
  };
  // What the program wrote behind chunk `chunk` itself (stream/overruns).
  struct Overrun {
    int64_t chunk;
    int64_t bytes;
    int64_t kept;  // of these, in the chunks that follow
  };
  // What tasks have that wrote more than a piece.
  struct Past {
    std::vector<int64_t> finished;  // sizes of the blocks before the current one
    std::vector<uint32_t> sums;     // of all pieces of these, and of the whole pieces of the current one
    int64_t current_sums = 0;       // begin of the latter in `sums`
    std::vector<Pieces> unknown;    // whose sums are not what is in the file
    bool shared = false;  // the program writes to the current block itself: none of its sums are known
    std::vector<Overrun> overruns;
    size_t overruns_seen = 0;  // of these, by see_overruns()
  };

  std::unique_ptr<Past> past = {};
  int64_t position = 0;  // next byte in the current chunk
  int64_t high = 0;      // bytes used of the current chunk, >= position
  uint32_t running = 0;  // checksum of the begun piece in front of `position`
  uint32_t piece = 0;    // bytes per checksum; 0: none are kept

  static TaskBlocks with_sums(uint32_t piece) { return {.piece = piece}; }

  // take_sums() will read from the file.
  bool reads_back() const {
    return piece > 0 && past && (past->shared || !past->unknown.empty() || position != high);
  }

  int64_t count() const { return (past ? std::ssize(past->finished) : 0) + 1; }
  int64_t size_of(int64_t block) const {
    return block + 1 < count() ? past->finished[static_cast<size_t>(block)] : high;
  }
  int64_t total() const {
    return past ? std::accumulate(past->finished.begin(), past->finished.end(), high) : high;
  }

  // `bytes` are in the chunk, from `position` on, which moves behind them.
  void advance(std::span<const std::byte> bytes) {
    sum(bytes, 0);
    move(std::ssize(bytes));
  }
  // The same in two steps, for bytes that are written in parts: the checksums of each, `ahead` bytes behind
  // `position`; then the move, or, if a part cannot be written, back to the checksums from before.
  struct Sums {
    uint32_t running;
    size_t whole;
  };
  Sums sums() const { return {running, past ? past->sums.size() : 0}; }
  void sum(std::span<const std::byte> bytes, int64_t ahead);
  void move(int64_t bytes) {
    position += bytes;
    high = std::max(high, position);
  }
  void return_to(const Sums& before) {
    running = before.running;
    if (past) past->sums.resize(before.whole);
  }
  // The program may write to the current chunk itself.
  void share() {
    if (piece > 0) make_past().shared = true;
  }
  // Nothing more goes into the current chunk, which has `chunk_size` bytes; the next one is current.
  void finish_block(int64_t chunk_size);
  // Back to a place in front of which nothing has changed.
  void return_to(int64_t block, int64_t to, int64_t highest, int64_t chunk_size);
  // Goes on behind what others have written (append): blocks of these sizes, and their checksums but for that
  // of the last piece, if it is begun, which has to be set.
  void continue_behind(std::span<const int64_t> sizes, std::vector<uint32_t> sums = {});

  // The checksums of all blocks, in the order of the format. Everything is in `file`; what is not known is
  // read back.
  std::vector<uint32_t> take_sums(File& file, const layout::ChunkGeometry& geometry);
  // Number of the first checksum of `pieces` among these; nothing if one of them was read back.
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
  void end_sums(int64_t chunk_size);
  void forget_behind(int64_t block, int64_t to, int64_t chunk_size);
};

// Checksums of `bytes` bytes of `file` at `offset`, one for each `piece` of them, the last one for what is
// left, as far as `sums` goes. Bytes behind the end of the file count as zeros. Reads at most 512 KiB, or a
// piece, at a time.
void sum_pieces(File& file, int64_t offset, int64_t bytes, uint32_t piece, std::span<uint32_t> sums);

// How a task tells what it has written, in native byte order: its row in the metadata arrays, the number of
// its blocks and whether it may have begun a journal, the number of its checksums, the sizes of its blocks,
// and its checksums if there are no more than `most_sums`; others follow in rounds (slice_sums.hpp). Appended
// to `rows`.
void append_row(std::vector<std::byte>& rows, int64_t row, const TaskBlocks& blocks, bool may_have_journal,
                std::span<const uint32_t> sums, int64_t most_sums);

// A view of such a row; null: there is none.
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
  // The checksums that the row has.
  std::span<const std::byte> sums_here() const {
    if (empty() || sums_follow()) return {};
    return {at_ + 8 * (3 + blocks()), static_cast<size_t>(4 * sums())};
  }
  size_t bytes() const { return static_cast<size_t>(8 * (3 + blocks())) + sums_here().size(); }

 private:
  int64_t word(int64_t number) const { return load<int64_t>(at_ + 8 * number, native_order); }
  const std::byte* at_;
};

}  // namespace sheaf
