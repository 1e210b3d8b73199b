// stream/file_checks: the checksums of a complete physical file (docs/format.md, section 14.2 and 14.3), as
// readers use them and writers write them.
//
// Tasks are taken in whole groups of format::group_tasks, so that a leader of a slice needs nobody else.
// Memory: what a group takes, and what is returned.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "format/extension.hpp"
#include "layout/placement.hpp"
#include "storage/file.hpp"
#include "stream/read_stream.hpp"

namespace sheaf {

// Where data are that are checked, for messages.
struct DataPlace {
  int64_t task = 0;  // its local rank
  int64_t block = 0;
  int64_t offset = 0;  // in the block
};

// Compares `data`, whole pieces of a block but for the last one, with their checksums, which begin at offset
// `sums_at` of `file`. Throws damaged.
void check_pieces(File& file, int64_t sums_at, uint32_t piece, std::span<const std::byte> data,
                  const DataPlace& place);

// The same for one piece of `bytes` bytes of which `sum` is the CRC32C: for those too large to hold.
void check_piece(File& file, int64_t sum_at, uint32_t sum, int64_t bytes, const DataPlace& place);

// The sections of a file that is complete but for its pointer: what all who write the trailer compute alike.
//   sums: data checksums of the whole file. mapping: entries of the mapping field; -1: there is none.
//   more: sections behind these, which TrailerWriter::write_more() writes.
struct MoreSection {
  format::SectionKind kind{};
  std::vector<std::byte> bytes;
};
format::Trailer plan_trailer(const format::Header& header, const format::Pointer& pointer,
                             const format::Identity& identity, int64_t sums, int64_t mapping,
                             std::span<const MoreSection> more = {});

// How many data checksums belong to a file whose META1, but for the last 12 bytes, and META2 are written.
int64_t count_sums(File& file, const format::Header& header, const format::Pointer& pointer, uint32_t piece);

// The checks of a file that is read.
class FileChecks {
 public:
  // Reads the trailer of a file of `size` bytes, as it was when the pointer had been read, and compares it
  // with header and pointer. Throws damaged, also if there is none. nullopt for a file without checksums.
  static std::optional<FileChecks> open(File& file, int64_t size, const format::Header& header,
                                        const format::Pointer& pointer,
                                        const std::optional<format::Extension>& extension);

  // Checks META1 and META2 of the tasks first.. up to first + count, whole groups. Returns where each finds
  // its sums.
  std::vector<SumsPlace> check_tasks(int64_t first, int64_t count);
  // The same for entries [first, first + count) of the mapping of `size` entries, in whole groups.
  void check_mapping(int64_t first, int64_t count, int64_t size);
  // The data checksums of the same tasks, themselves checked.
  std::vector<uint32_t> read_sums(int64_t first, int64_t count);
  // Checks those of tasks in whole groups, or all of them, one MiB at a time.
  void check_sums(int64_t first, int64_t count);
  void check_sums() { check_sums(0, header_.ntasks); }
  // Number of data checksums before those of the first task of a group. Believed only after check_tasks().
  int64_t sums_before(int64_t group) { return read_group(group).first_sum; }
  // Bytes of data per checksum.
  uint32_t piece() const { return piece_; }

  const format::Trailer& trailer() const { return trailer_; }

 private:
  FileChecks(File& file, const format::Header& header, format::Trailer trailer, uint32_t piece)
      : file_(&file), header_(header), trailer_(std::move(trailer)), piece_(piece) {}
  [[noreturn]] void damaged(const std::string& finding) const {
    throw file_error(Code::damaged, file_->path(), finding);
  }
  format::Group read_group(int64_t group);
  // Visits the data checksums of tasks in whole groups, as they are in the file, one MiB at a time, and
  // compares those of each group with their own checksum behind that.
  template <class Visit>
  void visit_sums(int64_t first, int64_t count, Visit&& visit);
  int64_t sums_in_file() const {
    const auto* const sums = trailer_.find(format::SectionKind::sums);
    return sums ? sums->length / 4 : 0;
  }

  File* file_;
  format::Header header_;
  format::Trailer trailer_;
  uint32_t piece_;
};

// Reads data checksums, which begin at offset `at` of the file, without a check.
SHEAF_EXPORT void read_sums(File& file, int64_t at, std::span<uint32_t> sums);

// Runs act(). False if it finds something damaged; what else it throws is thrown.
template <class Act>
bool unless_damaged(Act&& act) {
  try {
    act();
    return true;
  } catch (const Error& e) {
    if (e.code() != Code::damaged) throw;
    return false;
  }
}

// Of a file that has no pointer to META2 (yet): whether there is a trailer, and the META2 it speaks of, which
// is at `pointer`.
bool matches_trailer(File& file, const format::Header& header, const format::Pointer& pointer,
                     const std::optional<format::Extension>& extension);
// The pointer that such a trailer speaks of; nullopt if there is none for this file.
std::optional<format::Pointer> pointer_in_trailer(File& file,
                                                  const std::optional<format::Extension>& extension);

// The trailer of a file whose META1 but for the last 12 bytes, META2 and mapping are written.
class TrailerWriter {
 public:
  // `header` need not know the name. Both are kept by reference.
  TrailerWriter(File& file, const format::Header& header, const format::Trailer& plan, uint32_t piece)
      : file_(file), header_(header), plan_(plan), piece_(piece) {}

  // Tasks first.. up to first + count, whole groups, and their data checksums, which are written as they
  // come: begin_groups(), then add_sums() with portions of any size in the order of the format, as they are
  // in memory, then end_groups(). `sums_before`: those of all tasks before. Throws damaged if they are not as
  // many as META2 says. Memory: one MiB.
  void begin_groups(int64_t first, int64_t count, int64_t sums_before);
  void add_sums(std::span<const std::byte> sums);
  void end_groups();
  // Entries [first, first + count) of the mapping of `size` entries, whole groups.
  void write_mapping(int64_t first, int64_t count, int64_t size);
  // Those that the trailer was planned with.
  void write_more(std::span<const MoreSection> more);
  void write_footer();
  // All of it, by who has all tasks: add(*this) adds the checksums. entries: of the mapping; -1: there is
  // none.
  template <class Add>
  void write_all(int64_t entries, std::span<const MoreSection> more, Add&& add) {
    begin_groups(0, header_.ntasks, 0);
    add(*this);
    end_groups();
    write_mapping(0, entries, entries);
    write_more(more);
    write_footer();
  }

 private:
  bool begin_group();
  void write_sums();

  File& file_;
  const format::Header& header_;
  const format::Trailer& plan_;
  uint32_t piece_;
  // Between begin_groups() and end_groups().
  std::vector<std::byte> records_;  // of the groups that are complete, and what lies in front of the first
  int64_t records_at_ = 0;          // their offset in the file
  int64_t next_ = 0, end_ = 0;      // tasks of the groups that have not begun
  std::optional<format::Group> group_;  // the one that has
  format::Hash hash_;                   // of its checksums so far
  uint64_t missing_ = 0;                // of them
  int64_t sums_ = 0;                    // number in the file of the next one
  std::vector<std::byte> unwritten_;    // in front of that
};

}  // namespace sheaf
