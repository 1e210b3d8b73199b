#include "multifile/stream/file_checks.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/assert.hpp"
#include "layout/chunk_layout.hpp"
#include "layout/slices.hpp"
#include "multifile/stream/constants.hpp"
#include "multifile/stream/group_hashes.hpp"

namespace sheaf::multifile {

using format::group_tasks;
using format::SectionKind;

// Returns the trailer of a file of `size` bytes, or nullopt if the file does not end with a footer. The
// trailer begins at or after `begin`.
static std::optional<format::Trailer> read_trailer(File& file, int64_t begin, int64_t size) {
  // One read of this size gets the footer and a table with all kinds of sections defined so far.
  std::array<std::byte, 8 * format::section_entry_size + format::footer_size> end;
  const int64_t from = std::clamp<int64_t>(size - std::ssize(end), std::min(begin, size), size);
  const size_t got = file.read_at(std::span(end).first(static_cast<size_t>(size - from)), from);
  const auto bytes = std::span<const std::byte>(end).first(got);
  if (got < format::footer_size) return std::nullopt;
  const auto head = format::decode_footer(bytes.last<format::footer_size>(), size, file.path());
  if (!head) return std::nullopt;
  std::vector<std::byte> table(static_cast<size_t>(size - head->table));
  if (table.size() <= got) {
    std::ranges::copy(bytes.last(table.size()), table.begin());
  } else {
    read_whole(file, table, head->table, "trailer");
  }
  return format::decode_trailer(table, size, file.path());
}

// Throws damaged if `file` ends with a footer although it has no valid extension header.
static void refuse_footer(File& file, int64_t file_size) {
  std::array<std::byte, format::footer_size> footer;
  if (file_size < format::fixed_size + format::footer_size ||
      file.read_at(footer, file_size - format::footer_size) != footer.size())
    return;
  if (format::decode_footer(footer, file_size, file.path()))
    throw file_error(Code::damaged, file.path(),
                     "it has a trailer with checksums, but its header does not say so");
}

std::optional<FileChecks> FileChecks::open(File& file, int64_t size, const format::Header& header,
                                           const format::Pointer& pointer,
                                           const std::optional<format::Extension>& extension) {
  if (!extension) {
    if (header.version == format::newest_version) refuse_footer(file, size);
    return std::nullopt;
  }
  if (!extension->checksums()) return std::nullopt;
  auto found = read_trailer(file, pointer.varheader, size);
  if (!found) throw file_error(Code::damaged, file.path(), "its trailer with the checksums is missing");
  FileChecks checks(file, header, std::move(*found), extension->piece);
  const format::Trailer& trailer = checks.trailer();
  if (trailer.identity != extension->identity) checks.damaged("its trailer is that of another file");
  if (trailer.pointer.maxblocks != pointer.maxblocks || trailer.pointer.varheader != pointer.varheader)
    checks.damaged("the pointer to its block table does not match its trailer");
  const auto* const groups = trailer.find(SectionKind::groups);
  if (!groups || groups->length != format::group_entry_size * format::groups_of(header.ntasks))
    checks.damaged("the checksums of its metadata are missing");
  return checks;
}

bool matches_trailer(File& file, const format::Header& header, const format::Pointer& pointer,
                     const std::optional<format::Extension>& extension) {
  const format::Pointer complete{pointer.maxblocks, pointer.varheader};
  std::optional<FileChecks> checks;
  const bool sound = unless_damaged([&] {
    checks = FileChecks::open(file, file.status().size, header, complete, extension);
    for (int64_t task = 0; checks && task < header.ntasks; task += group_tasks)
      checks->check_tasks(task, std::min(group_tasks, header.ntasks - task));
    if (!checks || !checks->trailer().find(SectionKind::mapping)) return;
    const int64_t field = checks->trailer().plain_end - complete.varheader -
                          layout::meta2_size(header.ntasks, complete.maxblocks);
    checks->check_mapping(0, (field - 4) / 8, (field - 4) / 8);
  });
  return sound && checks;
}

std::optional<format::Pointer> pointer_in_trailer(File& file,
                                                  const std::optional<format::Extension>& extension) {
  if (!extension || !extension->checksums()) return std::nullopt;
  std::optional<format::Trailer> trailer;
  unless_damaged([&] { trailer = read_trailer(file, 0, file.status().size); });
  if (!trailer || trailer->identity != extension->identity) return std::nullopt;
  return trailer->pointer;
}

format::Group FileChecks::read_group(int64_t group) {
  std::array<std::byte, format::group_entry_size> bytes;
  read_whole(*file_, bytes, trailer_.find(SectionKind::groups)->offset + format::group_entry_size * group,
             "trailer");
  return format::decode_group(bytes);
}

// Reads the metadata of a group of tasks and compares them with their checksums.
GroupContents FileChecks::checked_contents(int64_t group, const format::Group& expected) const {
  GroupContents found = read_contents(*file_, header_, trailer_.pointer, group, piece_);
  const int64_t first = group * group_tasks;
  const std::string tasks = " of tasks " + std::to_string(first) + " to " +
                            std::to_string(first + std::ssize(found.sums) - 1) +
                            " do not match their checksum";
  if (found.meta1 != expected.meta1) damaged("global ranks or chunk sizes" + tasks);
  if (found.meta2 != expected.meta2) damaged("block counts or block sizes" + tasks);
  return found;
}

std::vector<SumsPlace> FileChecks::check_tasks(int64_t first, int64_t count) {
  SHEAF_ASSERT(first % group_tasks == 0 && (count % group_tasks == 0 || first + count == header_.ntasks));
  std::vector<SumsPlace> places;
  const auto* const sums = trailer_.find(SectionKind::sums);
  const auto all = static_cast<uint64_t>(sums_in_file());
  for (int64_t task = first; task < first + count; task += group_tasks) {
    const int64_t group = task / group_tasks;
    const format::Group expected = read_group(group);
    const GroupContents found = checked_contents(group, expected);
    auto next = static_cast<uint64_t>(expected.first_sum);
    bool fits = expected.first_sum >= 0 && next <= all && (group > 0 || next == 0);
    for (const uint64_t n : found.sums) {
      fits = fits && n <= all - next;
      if (!fits) break;
      const int64_t at = (sums ? sums->offset : 0) + 4 * static_cast<int64_t>(next);
      places.push_back({at, piece_, static_cast<int32_t>(first + std::ssize(places))});
      next += n;
    }
    const bool last = group + 1 == format::groups_of(header_.ntasks);
    if (!fits || (last && next != all)) damaged("the number of checksums does not fit its tasks");
  }
  return places;
}

void FileChecks::check_mapping(int64_t first, int64_t count, int64_t size) {
  SHEAF_ASSERT(first % group_tasks == 0 && count >= 0);
  const auto* const section = trailer_.find(SectionKind::mapping);
  const int64_t end = std::min(first + count, size);
  if (first >= end) return;
  if (!section || section->length != 8 * format::groups_of(size))
    damaged("the checksums of its mapping are missing, or the number of its entries is wrong");
  for (int64_t begin = first; begin < end; begin += stream_constants::entries_at_once) {
    const auto found = hashes_of_mapping(*file_, header_, trailer_.pointer, begin,
                                         std::min(stream_constants::entries_at_once, end - begin));
    std::vector<std::byte> expected(8 * found.size());
    read_whole(*file_, expected, section->offset + 8 * (begin / group_tasks), "trailer");
    for (size_t i = 0; i < found.size(); ++i)
      if (load<uint64_t>(expected.data() + 8 * i, ByteOrder::little) != found[i])
        damaged("entries of the mapping from task " +
                std::to_string(begin + static_cast<int64_t>(i) * group_tasks) +
                " on do not match their checksum");
  }
}

template <class Visit>
void FileChecks::visit_sums(int64_t first, int64_t count, Visit&& visit) {
  SHEAF_ASSERT(first % group_tasks == 0 && (count % group_tasks == 0 || first + count == header_.ntasks));
  const auto* const sums = trailer_.find(SectionKind::sums);
  const int64_t all = sums_in_file();
  for (int64_t task = first; task < first + count; task += group_tasks) {
    const int64_t group = task / group_tasks;
    const format::Group own = read_group(group);
    const bool last = group + 1 == format::groups_of(header_.ntasks);
    const int64_t end = last ? all : read_group(group + 1).first_sum;
    bool right = own.first_sum >= 0 && own.first_sum <= end && end <= all;
    if (right) {
      format::Hash hash;
      layout::for_each_slice<std::byte>(4 * own.first_sum, 4 * end, bytes_at_once,
                                        [&](int64_t at, std::span<std::byte> bytes) {
                                          read_whole(*file_, bytes, sums->offset + at, "checksums");
                                          hash.add(bytes);
                                          visit(bytes);
                                        });
      right = hash.value() == own.sums;
    }
    if (!right)
      damaged("the checksums of the data of tasks " + std::to_string(group * group_tasks) +
              " and on do not match their own");
  }
}

std::vector<uint32_t> FileChecks::read_sums(int64_t first, int64_t count) {
  std::vector<uint32_t> all;
  visit_sums(first, count, [&](std::span<const std::byte> bytes) {
    all.resize(all.size() + bytes.size() / 4);
    format::decode(bytes, ByteOrder::little, std::span(all).last(bytes.size() / 4));
  });
  return all;
}

void FileChecks::check_sums(int64_t first, int64_t count) {
  visit_sums(first, count, [](std::span<const std::byte>) {});
}

void read_sums(File& file, int64_t at, std::span<uint32_t> sums) {
  read_whole(file, std::as_writable_bytes(sums), at, "checksums");
  if constexpr (native_order != ByteOrder::little)
    format::decode(std::as_bytes(sums), ByteOrder::little, sums);
}

}  // namespace sheaf::multifile
