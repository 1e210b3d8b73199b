// Writes the trailer of a physical file.
#include <algorithm>

#include "base/assert.hpp"
#include "layout/chunk_layout.hpp"
#include "multifile/stream/file_checks.hpp"
#include "multifile/stream/group_hashes.hpp"

namespace sheaf::multifile {

using format::SectionKind;

format::Trailer plan_trailer(const format::Header& h, const format::Pointer& p,
                             const format::Identity& identity, int64_t sums, int64_t mapping,
                             std::span<const MoreSection> more) {
  format::Trailer t{.pointer = p,
                    .identity = identity,
                    .plain_end = p.varheader + layout::meta2_size(h.ntasks, p.maxblocks) +
                                 (mapping < 0 ? 0 : 4 + 8 * mapping),
                    .sections = {}};
  int64_t at = aligned8(t.plain_end);
  const auto add = [&](SectionKind kind, int64_t length) {
    t.sections.push_back({kind, at, length, 0});
    at = aligned8(at + length);
  };
  add(SectionKind::groups, format::group_entry_size * format::groups_of(h.ntasks));
  if (sums > 0) add(SectionKind::sums, 4 * sums);
  if (mapping > 0) add(SectionKind::mapping, 8 * format::groups_of(mapping));
  for (const MoreSection& section : more) {
    add(section.kind, std::ssize(section.bytes));
    t.sections.back().hash = format::hash_of(section.bytes);
  }
  t.table = at;
  return t;
}

int64_t count_sums(File& file, const format::Header& h, const format::Pointer& p, uint32_t piece) {
  uint64_t all = 0;
  for (int64_t group = 0; group < format::groups_of(h.ntasks); ++group)
    all += read_contents(file, h, p, group, piece).all_sums();
  return static_cast<int64_t>(all);
}

void TrailerWriter::begin_groups(int64_t first, int64_t count, int64_t sums_before) {
  SHEAF_ASSERT(first % format::group_tasks == 0 && !group_ && unwritten_.empty());
  const format::Section& groups = *plan_.find(SectionKind::groups);
  // Bytes between the plain end of the file and the trailer must be zero, so zeros overwrite older contents.
  records_.assign(first == 0 ? static_cast<size_t>(groups.offset - plan_.plain_end) : 0, std::byte{});
  records_at_ =
      first == 0 ? plan_.plain_end : groups.offset + format::group_entry_size * (first / format::group_tasks);
  next_ = first;
  end_ = first + count;
  sums_ = sums_before;
}

// Completes the record of the current group and begins the next group. Returns false if all groups are
// complete.
bool TrailerWriter::begin_group() {
  if (group_) {
    group_->entry.sums = group_->hash.value();
    const auto entry = format::encode(group_->entry);
    records_.insert(records_.end(), entry.begin(), entry.end());
    group_.reset();
  }
  if (next_ >= end_) return false;
  const GroupContents contents =
      read_contents(file_, header_, plan_.pointer, next_ / format::group_tasks, piece_);
  next_ += format::group_tasks;
  group_ = {{contents.meta1, contents.meta2, sums_, 0}, {}, contents.all_sums()};
  return true;
}

void TrailerWriter::add_sums(std::span<const std::byte> sums) {
  while (!sums.empty()) {
    while (missing() == 0)
      if (!begin_group())
        throw file_error(Code::damaged, file_.path(), "there are more checksums than pieces of data");
    const size_t most = std::min<size_t>(sums.size(), bytes_at_once - unwritten_.size());
    const auto part = sums.first(4 * std::min<uint64_t>(most / 4, group_->missing));
    unwritten_.insert(unwritten_.end(), part.begin(), part.end());
    const auto added = std::span(unwritten_).last(part.size());
    if constexpr (native_order != ByteOrder::little)  // the trailer is little endian
      for (size_t i = 0; i < added.size(); i += 4)
        store(&added[i], load<uint32_t>(&added[i], native_order), ByteOrder::little);
    group_->hash.add(added);
    group_->missing -= part.size() / 4;
    sums_ += std::ssize(part) / 4;
    sums = sums.subspan(part.size());
    if (unwritten_.size() == bytes_at_once) write_sums();
  }
}

void TrailerWriter::write_sums() {
  const auto* const section = plan_.find(SectionKind::sums);
  if (!section || 4 * sums_ > section->length)
    throw file_error(Code::damaged, file_.path(), "there are more checksums than were counted");
  const int64_t at = section->offset + 4 * sums_ - std::ssize(unwritten_);
  const auto gap = static_cast<size_t>(aligned8(section->length) - section->length);
  if (4 * sums_ == section->length) unwritten_.resize(unwritten_.size() + gap);
  file_.write_at(unwritten_, at);
  unwritten_.clear();
}

void TrailerWriter::end_groups() {
  do {
    if (missing() > 0) throw file_error(Code::damaged, file_.path(), "checksums are missing");
  } while (begin_group());
  if (!unwritten_.empty()) write_sums();
  if (!records_.empty()) file_.write_at(records_, records_at_);
}

void TrailerWriter::write_mapping(int64_t first, int64_t count, int64_t size) {
  const auto* const section = plan_.find(SectionKind::mapping);
  const int64_t end = std::min(first + count, size);
  if (!section || first >= end) return;
  const auto hashes = hashes_of_mapping(file_, header_, plan_.pointer, first, end - first);
  std::vector<std::byte> bytes(8 * hashes.size());
  format::encode(std::span(hashes), ByteOrder::little, bytes);
  file_.write_at(bytes, section->offset + 8 * (first / format::group_tasks));
}

void TrailerWriter::write_more(std::span<const MoreSection> more) {
  for (const MoreSection& section : more) {
    std::vector<std::byte> padded = section.bytes;
    padded.resize(static_cast<size_t>(aligned8(std::ssize(padded))));
    file_.write_at(padded, plan_.find(section.kind)->offset);
  }
}

void TrailerWriter::write_footer() {
  SHEAF_ASSERT(!group_ && unwritten_.empty());  // all groups are complete
  file_.write_at(format::encode(plan_), plan_.table);
  // A failed write may have left bytes after the footer, which must end the file.
  if (file_.status().size > plan_.end()) file_.resize(plan_.end());
}

}  // namespace sheaf::multifile
