// multifile/stream/file_checks: verifies and writes the checksums of a complete physical file
// (docs/format.md, sections 14.2 and 14.3).
//
// Tasks are processed in whole groups of format::group_tasks, so that the task that holds a slice of the
// metadata needs no data of other slices. A call holds one group in memory, and its result.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "format/extension.hpp"
#include "layout/placement.hpp"
#include "multifile/stream/block_reader.hpp"
#include "multifile/stream/group_hashes.hpp"
#include "storage/file.hpp"

namespace sheaf::multifile {

// A section of the trailer with contents that only the caller knows.
struct MoreSection {
  format::SectionKind kind{};
  std::vector<std::byte> bytes;
};
// Returns the layout of the trailer. The file must be complete except for its pointer. All tasks that write
// parts of the trailer compute the same layout.
//   sums: number of data checksums of the whole file.
//   mapping: number of entries of the mapping field; -1: no field.
//   more: further sections, which TrailerWriter::write_more() writes.
format::Trailer plan_trailer(const format::Header& header, const format::Pointer& pointer,
                             const format::Identity& identity, int64_t sums, int64_t mapping,
                             std::span<const MoreSection> more = {});

// Returns the number of data checksums of a file. META1 (except for its last 12 bytes) and META2 must be
// written.
int64_t count_sums(File& file, const format::Header& header, const format::Pointer& pointer, uint32_t piece);

// Verifies the checksums of a file that is read.
class FileChecks {
 public:
  // Reads the trailer and compares it with the header and the pointer. `size` is the size of the file in
  // bytes when the pointer was read. Throws damaged, also if there is no trailer. Returns nullopt for a file
  // without checksums.
  static std::optional<FileChecks> open(File& file, int64_t size, const format::Header& header,
                                        const format::Pointer& pointer,
                                        const std::optional<format::Extension>& extension);

  // Verifies META1 and META2 of tasks [first, first + count), which must be whole groups. Returns the place
  // of the checksums of each task.
  std::vector<SumsPlace> check_tasks(int64_t first, int64_t count);
  // Verifies entries [first, first + count), which must be whole groups, of a mapping of `size` entries.
  void check_mapping(int64_t first, int64_t count, int64_t size);
  // Reads the data checksums of tasks [first, first + count) and verifies them.
  std::vector<uint32_t> read_sums(int64_t first, int64_t count);
  // Verifies the data checksums of all tasks, or of tasks in whole groups, 1 MiB at a time.
  void check_sums(int64_t first, int64_t count);
  void check_sums() { check_sums(0, header_.ntasks); }
  // Returns the number of data checksums before those of the first task of a group. Valid only after
  // check_tasks().
  int64_t sums_before(int64_t group) { return read_group(group).first_sum; }
  // Returns the bytes of data per checksum.
  uint32_t piece() const { return piece_; }

  const format::Trailer& trailer() const { return trailer_; }

 private:
  FileChecks(File& file, const format::Header& header, format::Trailer trailer, uint32_t piece)
      : file_(&file), header_(header), trailer_(std::move(trailer)), piece_(piece) {}
  [[noreturn]] void damaged(const std::string& finding) const {
    throw file_error(Code::damaged, file_->path(), finding);
  }
  format::Group read_group(int64_t group);
  GroupContents checked_contents(int64_t group, const format::Group& expected) const;
  // Visits the data checksums of tasks in whole groups, in file byte order, 1 MiB at a time. After each
  // group, compares them with the checksum of the group.
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

// Reads data checksums, which begin at offset `at` of the file, without verifying them.
SHEAF_EXPORT void read_sums(File& file, int64_t at, std::span<uint32_t> sums);

// Runs act(). Returns false if it throws damaged; passes on other errors.
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

// Returns true if a file without a pointer to META2 has a trailer, and the trailer describes a META2 at
// `pointer`.
bool matches_trailer(File& file, const format::Header& header, const format::Pointer& pointer,
                     const std::optional<format::Extension>& extension);
// Returns the pointer in the trailer of a file without a pointer to META2, or nullopt if the file has no
// trailer with its identity.
std::optional<format::Pointer> pointer_in_trailer(File& file,
                                                  const std::optional<format::Extension>& extension);

// Writes the trailer of a file. META1 (except for its last 12 bytes), META2 and mapping must be written.
class TrailerWriter {
 public:
  // Keeps references to `header` and `plan`. `header` need not contain the name.
  TrailerWriter(File& file, const format::Header& header, const format::Trailer& plan, uint32_t piece)
      : file_(file), header_(header), plan_(plan), piece_(piece) {}

  // Write the records of tasks [first, first + count), whole groups, and their data checksums. Call
  // begin_groups(), add_sums() with portions of any size in the order of the format and in native byte order,
  // then end_groups(). `sums_before`: number of checksums of all preceding tasks. Throw damaged if the number
  // of checksums differs from META2. Memory: 1 MiB.
  void begin_groups(int64_t first, int64_t count, int64_t sums_before);
  void add_sums(std::span<const std::byte> sums);
  void end_groups();
  // Writes the hashes of entries [first, first + count), whole groups, of a mapping of `size` entries.
  void write_mapping(int64_t first, int64_t count, int64_t size);
  // Writes the sections that the trailer was planned with.
  void write_more(std::span<const MoreSection> more);
  void write_footer();
  // Writes the whole trailer, for callers that have all tasks. add(*this) adds the checksums. `entries` is
  // the number of entries of the mapping; -1: no mapping.
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
  // The group in progress.
  struct OpenGroup {
    format::Group entry;
    format::Hash hash;     // hash of the checksums so far
    uint64_t missing = 0;  // number of checksums that are still to come
  };
  uint64_t missing() const { return group_ ? group_->missing : 0; }
  bool begin_group();
  void write_sums();

  File& file_;
  const format::Header& header_;
  const format::Trailer& plan_;
  uint32_t piece_;
  // State between begin_groups() and end_groups().
  std::vector<std::byte> records_;  // records of the complete groups, and preceding bytes
  int64_t records_at_ = 0;          // their offset in the file
  int64_t next_ = 0, end_ = 0;      // tasks of the groups not begun yet
  std::optional<OpenGroup> group_;
  int64_t sums_ = 0;                  // number of the next checksum in the file
  std::vector<std::byte> unwritten_;  // checksums preceding number sums_
};

}  // namespace sheaf::multifile
