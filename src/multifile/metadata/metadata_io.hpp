// multifile/metadata/metadata_io: reads and writes the metadata of one physical file in slices, at offsets
// that every task can compute. Used by the serial handles, the parallel protocol and the tools. A call holds
// no more rows than its caller has requested. Every number read is validated against the size of the file
// before use.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/checked.hpp"
#include "base/non_copyable.hpp"
#include "format/extension.hpp"
#include "format/header.hpp"
#include "layout/chunk_layout.hpp"
#include "layout/overruns.hpp"
#include "layout/placement.hpp"
#include "layout/slices.hpp"
#include "multifile/journal/journal_reader.hpp"
#include "multifile/metadata/facts.hpp"
#include "multifile/options/checking.hpp"
#include "multifile/stream/file_checks.hpp"
#include "multifile/stream/group_hashes.hpp"
#include "storage/file.hpp"

namespace sheaf::multifile {

// Return the offsets of a round of block sizes, and of the mapping, which follows the last round.
inline int64_t block_sizes_offset(const format::Header& h, const format::Pointer& p, int64_t round) {
  return p.varheader + 8 * int64_t{h.ntasks} * (1 + round);
}
inline int64_t mapping_offset(const format::Header& h, const format::Pointer& p) {
  return block_sizes_offset(h, p, p.maxblocks);
}

// Returns a view of a mapping as it is stored: for each task, the number of its file and its local rank.
template <class Entry>
auto numbers_of(std::span<Entry> entries) {
  using Number = std::conditional_t<std::is_const_v<Entry>, const int32_t, int32_t>;
  static_assert(sizeof(Entry) == 2 * sizeof(Number));
  return std::span(reinterpret_cast<Number*>(entries.data()), 2 * entries.size());
}

class MetadataReader;

// Recovers the metadata of a file that was never closed, which has no META2, for its MetadataReader. Uses the
// journal instead (multifile/journal/journal_reader), and derives the mapping from the global ranks of all
// files. A Pointer from the journal is marked as such and may be sent to other readers. All calls may throw
// damaged and unclosed, naming the file.
class UnclosedMetadata : private NonCopyable {
 public:
  // `reader` reads the file. `reader` and `store` must outlive the object. If `store` is null, the journal
  // and other files of the set are not used.
  UnclosedMetadata(MetadataReader& reader, Store* store, Checking checking, NameOf name_of)
      : reader_(reader),
        store_(store),
        name_of_(std::move(name_of)),
        checking_(checking),
        lost_records_(checking == Checking::on ? LostRecords::refused : LostRecords::accepted) {}

  // Accepts tasks with damaged journal records; their valid records count. Must be
  // called before MetadataReader::read_pointer(). The next three functions must be called after it.
  void accept_lost_records() { lost_records_ = LostRecords::accepted; }
  // Returns true if the pointer could not be recovered because the journal of the file is lost.
  bool journal_lost() const { return journal_lost_; }
  // Returns the damage found in the journal when the pointer was recovered.
  JournalDamage journal_damage() const { return journal_ ? journal_->damage() : JournalDamage{}; }
  // Returns true if a task has continued without its journal. The journal may then lack the end of streams.
  bool has_journal_gap();

  // Returns true if the program died while it wrote the pointer: the trailer contains a pointer, and the
  // journal, which is removed after that write, still exists.
  bool is_pointer_torn();
  // Returns a replacement for the pointer of the file. Throws `unclosed` if there is no journal.
  format::Pointer recover_pointer();
  // The following calls are those of MetadataReader for a pointer that recover_pointer() has returned.
  void read_block_counts(const format::Pointer& p, int64_t first, std::span<int64_t> values);
  void read_block_sizes(const format::Pointer& p, int64_t round, int64_t first, std::span<int64_t> values);
  int64_t read_mapping_size();
  void read_mapping(int64_t first, std::span<layout::Placement> entries);

 private:
  bool open_journal();
  std::optional<format::Pointer> open_journal_unless_closed();
  [[noreturn]] void lose_journal();
  std::optional<format::Pointer> find_unmarked_table(int64_t skip);
  std::optional<format::Pointer> table_of(const format::Pointer& p);
  void for_each_rank(const std::function<void(layout::Placement, int64_t rank)>& visit);

  MetadataReader& reader_;
  Store* const store_;
  const NameOf name_of_;
  const Checking checking_;
  LostRecords lost_records_;
  std::unique_ptr<JournalReader> journal_;
  bool journal_lost_ = false;
  std::optional<format::Pointer> closed_;  // the file was completed after the reader was opened
};

// Reads the metadata of one physical file. Prefetches them (File::prefetch) if they are small: one request
// for a file of at most 64 KiB, two for a larger one. All calls may throw damaged and unclosed, naming the
// file. With a store, the reader can also read a file that was never closed (UnclosedMetadata).
class MetadataReader {
 public:
  // Reads and validates the header. `file` and `store` must outlive the reader.
  explicit MetadataReader(File& file) : MetadataReader(file, nullptr, Checking::on, {}) {}
  MetadataReader(Store& store, File& file, Checking checking = Checking::on, NameOf name_of = {})
      : MetadataReader(file, &store, checking, std::move(name_of)) {}
  // Uses a header that another task has read.
  MetadataReader(File& file, const format::Header& header)
      : file_(file),
        opened_size_(file.traits().opened_size),
        header_(header),
        checking_(Checking::on),
        unclosed_(*this, nullptr, Checking::on, {}) {}

  const format::Header& header() const { return header_; }
  File& file() const { return file_; }
  int64_t file_size();        // bytes; queried once, and again after the pointer was read
  bool reaches(int64_t end);  // true if the file has at least `end` bytes

  // Reads the pointer to META2 and checks that META2 lies inside the file. Throws `unclosed` if there is no
  // pointer and no journal can replace it. If the file has checksums, verifies the header and the pointer.
  format::Pointer read_pointer();
  // Returns the pointer in the file, if it contains one and META2 lies inside the file. Throws damaged.
  std::optional<format::Pointer> read_stored_pointer();
  UnclosedMetadata& unclosed() { return unclosed_; }

  // Returns the checksums of the rest of a complete file, opened at the first call. Null if the file has none
  // or checking is off.
  FileChecks* checks(const format::Pointer& p);
  // Returns the extension header. Throws damaged if its checksum does not match.
  const std::optional<format::Extension>& extension();

  // Read slices [first, first + values.size()) of the arrays. Chunk sizes are the final ones (aligned for
  // format 3).
  void read_globalranks(int64_t first, std::span<int64_t> values) {
    read_numbers(header_.globalranks_offset() + 8 * first, values, "global ranks");
  }
  void read_chunk_sizes(int64_t first, std::span<int64_t> values);
  // Reads chunk sizes as stored. Before format 4, the requested sizes are stored, not the final ones.
  void read_stored_chunk_sizes(int64_t first, std::span<int64_t> values) {
    read_numbers(header_.chunksizes_offset() + 8 * first, values, "chunk sizes");
  }
  // Throws unless all counts are in 1..maxblocks.
  void read_block_counts(const format::Pointer& p, int64_t first, std::span<int64_t> values);
  // Reads block sizes of one round. After find_overruns(), the size of a truncated block is the number of its
  // bytes that certainly belong to the task.
  void read_block_sizes(const format::Pointer& p, int64_t round, int64_t first, std::span<int64_t> values);
  // Reads block sizes as stored.
  void read_stored_block_sizes(const format::Pointer& p, int64_t round, int64_t first,
                               std::span<int64_t> values);
  // Returns the blocks that must be truncated, because their last bytes may belong to another task. Must be
  // called if a block is larger than its chunk. At the first call, reads the whole block table of a complete
  // file without checksums, and adds a warning if it finds such blocks. Returns none for other files.
  const std::vector<layout::CutBlock>& find_overruns(const format::Pointer& p);
  // Returns a number of rounds, from `round` on, in which the task's block is empty because its size lies in
  // a hole of the file. Queries the hole without reading sizes, so further rounds may be empty. Returns 0 if
  // the size may lie outside a hole.
  int64_t empty_rounds(const format::Pointer& p, int64_t round, int64_t task) {
    if (!p.complete()) return 0;
    const int64_t at = block_sizes_offset(header_, p, round) + 8 * task;
    const int64_t hole = std::min(file_.next(Space::data, at), file_size()) - at;
    return hole < 8 ? 0
                    : std::min<int64_t>((hole - 8) / (8 * int64_t{header_.ntasks}) + 1, p.maxblocks - round);
  }

  // Read the size of the mapping, which is the number of tasks of the set, and its entries. Require
  // header().leads_set().
  int64_t read_mapping_size(const format::Pointer& p);
  void read_mapping(const format::Pointer& p, int64_t first, std::span<layout::Placement> entries);

  // Calls visit(first, sizes) for the chunk sizes of all tasks, `at_once` at a time. Returns their sum.
  // Throws damaged if the first round would end beyond 2^63 bytes.
  template <class Visit>
  int64_t visit_chunk_sizes(int64_t at_once, Visit&& visit) {
    const int64_t begin = layout::data_start(header_.ntasks, header_.fsblksize);
    std::optional<int64_t> end = begin;
    layout::for_each_slice(0, header_.ntasks, at_once, [&](int64_t first, std::span<int64_t> sizes) {
      read_chunk_sizes(first, sizes);
      visit(first, std::span<const int64_t>(sizes));
      for (const int64_t size : sizes) end = end ? checked_add(*end, size) : end;
    });
    if (!end) damaged("the chunk sizes add up to more than 2^63 bytes");
    return *end - begin;
  }
  // Throws unless `p` points to the end of the chunks: data_start + maxblocks * skip.
  void check_pointer(const format::Pointer& p, int64_t skip) const {
    if (layout::end_of_rounds(header_.ntasks, header_.fsblksize, p.maxblocks, skip) != p.varheader)
      damaged("the block table is said to begin at offset " + std::to_string(p.varheader) +
              ", which is not the end of the chunks");
  }
  // Throws unless the block lies inside the data area. A block may be larger than its chunk in files written
  // through FILE*, but not in key-value files (docs/format.md, section 9). Without checksums it may extend to
  // the end of the file.
  void check_block(const format::Pointer& p, const layout::ChunkGeometry& g, int64_t task, int64_t block,
                   int64_t bytes);

  [[noreturn]] void damaged(const std::string& finding) const {
    throw file_error(Code::damaged, file_.path(), finding);
  }

 private:
  MetadataReader(File& file, Store* store, Checking checking, NameOf name_of);
  void prefetch_tables(const format::Pointer& p);
  template <class Number>
  void read_numbers(int64_t offset, std::span<Number> values, const char* what) {
    const std::span<std::byte> bytes = std::as_writable_bytes(values);
    read_whole(file_, bytes, offset, what);
    if (header_.metadata_order != native_order) format::decode(bytes, header_.metadata_order, values);
  }
  // Returns true if blocks of the file may have to be truncated. If checksums are verified, returns false,
  // because the checksums show which bytes belong to the task.
  bool may_overrun(const format::Pointer& p) {
    return p.complete() && !(checking_ == Checking::on && extension() && extension()->checksums());
  }

  File& file_;
  int64_t file_size_ = -1;     // -1: not queried yet
  const int64_t opened_size_;  // see FileTraits
  format::Header header_;
  const Checking checking_;
  std::optional<std::optional<format::Extension>> extension_;  // none: not read yet
  std::unique_ptr<FileChecks> checks_;
  std::optional<std::vector<layout::CutBlock>> overruns_;  // none: not searched yet
  UnclosedMetadata unclosed_;
};

// Returns true if two files of a set certainly come from different opens. Returns false if either has no
// identity.
inline bool is_of_another_open(const std::optional<format::Extension>& a,
                               const std::optional<format::Extension>& b) {
  return a && b && a->identity != b->identity;
}
// Throws damaged, naming the member, if `member` is of another open than file 0. `lead` is the extension of
// file 0.
void require_same_open(const std::optional<format::Extension>& lead, MetadataReader& member);

// Identifies the contents of a physical file, to detect that a later file has replaced them.
struct FileIdentity {
  format::Identity identity{};  // zeros: none
  int64_t pointer_offset = 0;   // 0: pointer unknown, or the file was not closed
  std::array<std::byte, format::pointer_size> pointer{};

  static FileIdentity of(const format::Header& header, const format::Pointer& pointer,
                         const std::optional<format::Extension>& extension);
};
// Returns a File that reads `file` and checks its contents after every read. The read throws `foreign` if
// they are of another generation (storage/decorators/watched_file). Compares the identity or, without one,
// the pointer. Returns `file` itself if neither is known.
std::shared_ptr<File> watched(std::shared_ptr<File> file, const FileIdentity& of);

// Writes the metadata of one physical file. The caller is responsible for the order of writes of different
// tasks.
class MetadataWriter {
 public:
  MetadataWriter(File& file, const format::Header& header) : file_(file), header_(header) {}

  // Writes the fixed part of META1, with the magic that the extension requires, and the extension itself.
  void write_header(const std::optional<format::Extension>& extension = {});
  // Writes the entries of META1 for tasks [first, first + n).
  void write_ranks_and_sizes(int64_t first, std::span<const int64_t> globalranks,
                             std::span<const int64_t> chunk_sizes) {
    write_numbers(header_.globalranks_offset() + 8 * first, globalranks);
    write_numbers(header_.chunksizes_offset() + 8 * first, chunk_sizes);
  }
  void write_block_counts(const format::Pointer& p, int64_t first, std::span<const int64_t> counts) {
    write_numbers(p.varheader + 8 * first, counts);
  }
  // Writes one round of block sizes for tasks [first, first + n), or several rounds if n is the number of
  // tasks of the file.
  void write_block_sizes(const format::Pointer& p, int64_t round, int64_t first,
                         std::span<const int64_t> sizes) {
    write_numbers(block_sizes_offset(header_, p, round) + 8 * first, sizes);
  }
  // Write the size of the mapping, and its entries. Needed in serial and mapped writing, and in file 0 of a
  // set.
  void write_mapping_size(const format::Pointer& p, int32_t size) {
    write_numbers(mapping_offset(header_, p), std::span<const int32_t>(&size, 1));
  }
  void write_mapping(const format::Pointer& p, int64_t first, std::span<const layout::Placement> entries) {
    write_numbers(mapping_offset(header_, p) + 4 + 8 * first, numbers_of(entries));
  }
  // Makes the file complete. Must be the last write.
  void write_pointer(const format::Pointer& p) {
    file_.write_at(format::encode(p, header_.metadata_order), header_.pointer_offset());
  }

  bool covers_file(size_t ntasks) const { return static_cast<int64_t>(ntasks) == header_.ntasks; }

 private:
  template <class Number>
  void write_numbers(int64_t offset, std::span<const Number> values) {
    if (header_.metadata_order == native_order) return file_.write_at(std::as_bytes(values), offset);
    std::vector<std::byte> bytes(values.size_bytes());
    format::encode(values, header_.metadata_order, bytes);
    file_.write_at(bytes, offset);
  }

  File& file_;
  const format::Header& header_;
};

// Writes block counts and all rounds of block sizes of tasks [first, first + counts.size()). size_of(t, k)
// returns block k < counts[t] of task first + t. Rounds that a task did not use are written as `unused` (0 or
// -1).
void write_block_table(MetadataWriter& writer, const format::Pointer& p, int64_t first,
                       std::span<const int64_t> counts,
                       const std::function<int64_t(size_t t, int64_t block)>& size_of, int64_t unused);

// Returns the geometry of one task. Reads the chunk sizes in portions of bounded memory. Throws out_of_range
// for an invalid rank.
layout::ChunkGeometry read_geometry(MetadataReader& reader, const format::Pointer& p, int64_t local_rank);

// Returns the block sizes of one task after validation.
std::vector<int64_t> read_blocks_of_task(MetadataReader& reader, const format::Pointer& p,
                                         const layout::ChunkGeometry& geometry, int64_t local_rank);

}  // namespace sheaf::multifile
