#include "stream/file_checks.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "comm/agree.hpp"
#include "layout/chunk_layout.hpp"

namespace sheaf {

using format::group_tasks;
using format::Header;
using format::Pointer;
using format::Section;
using format::SectionKind;
using format::Trailer;

namespace {

constexpr int64_t bytes_at_once = 1 << 20;

int64_t aligned8(int64_t offset) { return (offset + 7) / 8 * 8; }

// What is in the file of a group of tasks.
struct GroupContents {
  uint64_t meta1 = 0;
  uint64_t meta2 = 0;
  std::vector<uint64_t> sums;  // data checksums of each task; of a crafted file, any number

  uint64_t all_sums() const { return std::accumulate(sums.begin(), sums.end(), uint64_t{0}); }
};

void read_whole(File& file, std::span<std::byte> to, int64_t offset, const char* what) {
  if (file.read_at(to, offset) != to.size())
    throw file_error(Code::damaged, file.path(), std::string("truncated inside the ") + what);
}

// Hashes are of the bytes as they are; numbers are decoded only to count the sums, and believed by nobody.
GroupContents read_contents(File& file, const Header& h, const Pointer& p, int64_t group, uint32_t piece) {
  const int64_t first = group * group_tasks;
  const auto n = static_cast<size_t>(std::min(group_tasks, h.ntasks - first));
  const int64_t all = h.ntasks;
  GroupContents contents;
  std::vector<std::byte> bytes(8 * n);
  std::vector<int64_t> chunks(n), counts(n);
  format::Hash meta1, meta2;
  read_whole(file, bytes, h.globalranks_offset() + 8 * first, "global ranks");
  meta1.add(bytes);
  read_whole(file, bytes, h.chunksizes_offset() + 8 * first, "chunk sizes");
  meta1.add(bytes);
  format::decode(bytes, h.metadata_order, chunks);
  read_whole(file, bytes, p.varheader + 8 * first, "block counts");
  meta2.add(bytes);
  format::decode(bytes, h.metadata_order, counts);
  contents.sums.resize(n);
  // Rounds of a group that is the whole file are neighbours.
  const int64_t rounds_at_once =
      static_cast<int64_t>(n) == all ? std::max<int64_t>(1, bytes_at_once / (8 * all)) : 1;
  for (int64_t round = 0; round < p.maxblocks;) {
    const int64_t rounds = std::min<int64_t>(rounds_at_once, p.maxblocks - round);
    bytes.resize(8 * n * static_cast<size_t>(rounds));
    read_whole(file, bytes, p.varheader + 8 * all * (1 + round) + 8 * first, "block sizes");
    meta2.add(bytes);
    if (piece == 0) {
      round += rounds;
      continue;
    }
    for (size_t i = 0; round < p.maxblocks && i < bytes.size() / 8; ++round)
      for (size_t t = 0; t < n; ++t, ++i) {
        const auto size = load<int64_t>(bytes.data() + 8 * i, h.metadata_order);
        if (round < counts[t] && size > 0 && chunks[t] > 0)
          contents.sums[t] += static_cast<uint64_t>(format::sums_of_block(size, chunks[t], piece));
      }
  }
  contents.meta1 = meta1.value();
  contents.meta2 = meta2.value();
  return contents;
}

std::vector<uint64_t> hashes_of_mapping(File& file, const Header& h, const Pointer& p, int64_t first,
                                        int64_t count) {
  const int64_t begin = p.varheader + layout::meta2_size(h.ntasks, p.maxblocks);
  std::vector<uint64_t> hashes;
  std::vector<std::byte> bytes;
  for (int64_t entry = first; entry < first + count; entry += group_tasks) {
    const int64_t n = std::min(group_tasks, first + count - entry);
    const int64_t size_field = entry == 0 ? 4 : 0;
    bytes.resize(static_cast<size_t>(8 * n + size_field));
    read_whole(file, bytes, begin + 4 + 8 * entry - size_field, "mapping of the set");
    hashes.push_back(format::hash_of(bytes));
  }
  return hashes;
}

// Appends numbers, given as they are in memory, in the order of the file.
template <class Number>
void put_all(std::vector<std::byte>& to, std::span<const std::byte> numbers) {
  const size_t at = to.size();
  to.insert(to.end(), numbers.begin(), numbers.end());
  if constexpr (native_order != ByteOrder::little)
    for (std::byte* n = to.data() + at; n < to.data() + to.size(); n += sizeof(Number))
      store<Number>(n, load<Number>(n, native_order), ByteOrder::little);
}

}  // namespace

Trailer plan_trailer(const Header& h, const Pointer& p, const format::Identity& identity, int64_t sums,
                     int64_t mapping) {
  Trailer t;
  t.pointer = p;
  t.identity = identity;
  t.plain_end = p.varheader + layout::meta2_size(h.ntasks, p.maxblocks) + (mapping < 0 ? 0 : 4 + 8 * mapping);
  int64_t at = aligned8(t.plain_end);
  const auto add = [&](SectionKind kind, int64_t length) {
    t.sections.push_back({kind, at, length, 0});
    at = aligned8(at + length);
  };
  add(SectionKind::groups, format::group_entry_size * format::groups_of(h.ntasks));
  if (sums > 0) add(SectionKind::sums, 4 * sums);
  if (mapping > 0) add(SectionKind::mapping, 8 * format::groups_of(mapping));
  t.table = at;
  return t;
}

int64_t count_sums(File& file, const Header& h, const Pointer& p, uint32_t piece) {
  uint64_t all = 0;
  for (int64_t group = 0; group < format::groups_of(h.ntasks); ++group)
    all += read_contents(file, h, p, group, piece).all_sums();
  return static_cast<int64_t>(all);
}

void TrailerWriter::begin_groups(int64_t first, int64_t count, int64_t sums_before) {
  const Section& groups = *plan_.find(SectionKind::groups);
  // What lies between the end of the plain file and the trailer is zero, whatever was there before.
  records_.assign(first == 0 ? static_cast<size_t>(groups.offset - plan_.plain_end) : 0, std::byte{});
  records_at_ =
      first == 0 ? plan_.plain_end : groups.offset + format::group_entry_size * (first / group_tasks);
  next_ = first;
  end_ = first + count;
  sums_ = sums_before;
}

// False: there is no other one.
bool TrailerWriter::begin_group() {
  if (group_) end_group();
  if (next_ >= end_) return false;
  const GroupContents contents = read_contents(file_, header_, plan_.pointer, next_ / group_tasks, piece_);
  next_ += group_tasks;
  missing_ = contents.all_sums();
  group_ = {contents.meta1, contents.meta2, sums_, 0};
  hash_ = format::Hash();
  return true;
}

void TrailerWriter::end_group() {
  group_->sums = hash_.value();
  const auto entry = format::encode(*group_);
  records_.insert(records_.end(), entry.begin(), entry.end());
  group_.reset();
}

void TrailerWriter::add_sums(std::span<const std::byte> sums) {
  while (!sums.empty()) {
    while (missing_ == 0)
      if (!begin_group())
        throw file_error(Code::damaged, file_.path(), "there are more checksums than pieces of data");
    const size_t most = std::min<size_t>(sums.size(), bytes_at_once - unwritten_.size());
    const auto part = sums.first(4 * std::min<uint64_t>(most / 4, missing_));
    put_all<uint32_t>(unwritten_, part);
    hash_.add(std::span(unwritten_).last(part.size()));
    missing_ -= part.size() / 4;
    sums_ += std::ssize(part) / 4;
    sums = sums.subspan(part.size());
    if (unwritten_.size() == bytes_at_once) write_sums();
  }
}

void TrailerWriter::write_sums() {
  const Section* const section = plan_.find(SectionKind::sums);
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
    if (missing_ > 0) throw file_error(Code::damaged, file_.path(), "checksums are missing");
  } while (begin_group());
  if (!unwritten_.empty()) write_sums();
  if (!records_.empty()) file_.write_at(records_, records_at_);
}

void TrailerWriter::write_mapping(int64_t first, int64_t count, int64_t size) {
  const Section* const section = plan_.find(SectionKind::mapping);
  const int64_t end = std::min(first + count, size);
  if (!section || first >= end) return;
  std::vector<std::byte> bytes;
  const auto hashes = hashes_of_mapping(file_, header_, plan_.pointer, first, end - first);
  put_all<uint64_t>(bytes, std::as_bytes(std::span(hashes)));
  file_.write_at(bytes, section->offset + 8 * (first / group_tasks));
}

void TrailerWriter::write_footer() {
  file_.write_at(format::encode(plan_), plan_.table);
  // What a write that has failed has left behind: the footer must be at the end.
  if (file_.status().size > plan_.end()) file_.resize(plan_.end());
}

// nullopt: the file does not end with a footer.
static std::optional<Trailer> read_trailer(File& file) {
  const int64_t size = file.status().size;
  // Footer and table of all sections there are now, in one read.
  std::array<std::byte, 8 * format::section_entry_size + format::footer_size> end;
  const int64_t from = std::max<int64_t>(0, size - std::ssize(end));
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

std::optional<FileChecks> FileChecks::open(File& file, const Header& header, const Pointer& pointer,
                                           const std::optional<format::Extension>& extension) {
  const int64_t size = file.status().size;
  if (!extension) {
    if (header.version == format::newest_version) refuse_footer(file, size);
    return std::nullopt;
  }
  if (!extension->checksums()) return std::nullopt;
  const auto damaged = [&](const std::string& finding) {
    throw file_error(Code::damaged, file.path(), finding);
  };
  std::optional<Trailer> found = read_trailer(file);
  if (!found) damaged("its trailer with the checksums is missing");
  Trailer trailer = std::move(*found);
  if (trailer.identity != extension->identity) damaged("its trailer is that of another file");
  if (trailer.pointer.maxblocks != pointer.maxblocks || trailer.pointer.varheader != pointer.varheader)
    damaged("the pointer to its block table does not match its trailer");
  const Section* const groups = trailer.find(SectionKind::groups);
  if (!groups || groups->length != format::group_entry_size * format::groups_of(header.ntasks))
    damaged("the checksums of its metadata are missing");
  return FileChecks(file, header, std::move(trailer), extension->piece);
}

void refuse_footer(File& file, int64_t file_size) {
  std::array<std::byte, format::footer_size> footer;
  if (file_size < format::fixed_size + format::footer_size ||
      file.read_at(footer, file_size - format::footer_size) != footer.size())
    return;
  if (format::decode_footer(footer, file_size, file.path()))
    throw file_error(Code::damaged, file.path(),
                     "it has a trailer with checksums, but its header does not say so");
}

bool matches_trailer(File& file, const Header& header, const Pointer& pointer,
                     const std::optional<format::Extension>& extension) {
  const Pointer complete{pointer.maxblocks, pointer.varheader};
  bool found = false;
  const auto wrong = attempt([&] {
    auto checks = FileChecks::open(file, header, complete, extension);
    found = checks.has_value();
    for (int64_t task = 0; checks && task < header.ntasks; task += group_tasks)
      checks->check_tasks(task, std::min(group_tasks, header.ntasks - task));
    if (!checks || !checks->trailer().find(SectionKind::mapping)) return;
    const int64_t field = checks->trailer().plain_end - complete.varheader -
                          layout::meta2_size(header.ntasks, complete.maxblocks);
    checks->check_mapping(0, (field - 4) / 8, (field - 4) / 8);
  });
  if (wrong && wrong->code() != Code::damaged) throw *wrong;
  return found && !wrong;
}

std::optional<Pointer> pointer_in_trailer(File& file, const std::optional<format::Extension>& extension) {
  if (!extension || !extension->checksums()) return std::nullopt;
  std::optional<Trailer> trailer;
  const auto wrong = attempt([&] { trailer = read_trailer(file); });
  if (wrong && wrong->code() != Code::damaged) throw *wrong;
  if (!trailer || trailer->identity != extension->identity) return std::nullopt;
  return trailer->pointer;
}

int64_t FileChecks::sums_in_file() const {
  const Section* const sums = trailer_.find(SectionKind::sums);
  return sums ? sums->length / 4 : 0;
}

format::Group FileChecks::read_group(int64_t group) {
  std::array<std::byte, format::group_entry_size> bytes;
  read_whole(*file_, bytes, trailer_.find(SectionKind::groups)->offset + format::group_entry_size * group,
             "trailer");
  return format::decode_group(bytes);
}

std::vector<SumsPlace> FileChecks::check_tasks(int64_t first, int64_t count) {
  std::vector<SumsPlace> places;
  const Section* const sums = trailer_.find(SectionKind::sums);
  for (int64_t task = first; task < first + count; task += group_tasks) {
    const int64_t group = task / group_tasks;
    const format::Group expected = read_group(group);
    const GroupContents found = read_contents(*file_, header_, trailer_.pointer, group, piece_);
    const std::string tasks = " of tasks " + std::to_string(task) + " to " +
                              std::to_string(task + std::ssize(found.sums) - 1) +
                              " do not match their checksum";
    if (found.meta1 != expected.meta1)
      throw file_error(Code::damaged, file_->path(), "global ranks or chunk sizes" + tasks);
    if (found.meta2 != expected.meta2)
      throw file_error(Code::damaged, file_->path(), "block counts or block sizes" + tasks);
    const auto all = static_cast<uint64_t>(sums_in_file());
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
    if (!fits || (last && next != all))
      throw file_error(Code::damaged, file_->path(), "the number of checksums does not fit its tasks");
  }
  return places;
}

void FileChecks::check_mapping(int64_t first, int64_t count, int64_t size) {
  const Section* const section = trailer_.find(SectionKind::mapping);
  const int64_t end = std::min(first + count, size);
  if (first >= end) return;
  if (!section || section->length != 8 * format::groups_of(size))
    throw file_error(Code::damaged, file_->path(),
                     "the checksums of its mapping are missing, or the number of its entries is wrong");
  constexpr int64_t entries_at_once = 128 * group_tasks;  // 1 MiB
  for (int64_t begin = first; begin < end; begin += entries_at_once) {
    const auto found =
        hashes_of_mapping(*file_, header_, trailer_.pointer, begin, std::min(entries_at_once, end - begin));
    std::vector<std::byte> expected(8 * found.size());
    read_whole(*file_, expected, section->offset + 8 * (begin / group_tasks), "trailer");
    for (size_t i = 0; i < found.size(); ++i)
      if (load<uint64_t>(expected.data() + 8 * i, ByteOrder::little) != found[i])
        throw file_error(Code::damaged, file_->path(),
                         "entries of the mapping from task " +
                             std::to_string(begin + static_cast<int64_t>(i) * group_tasks) +
                             " on do not match their checksum");
  }
}

std::pair<int64_t, int64_t> FileChecks::sums_of(int64_t group, const format::Group& own) {
  const bool last = group + 1 == format::groups_of(header_.ntasks);
  const int64_t end = last ? sums_in_file() : read_group(group + 1).first_sum;
  if (own.first_sum < 0 || own.first_sum > end || end > sums_in_file()) wrong_sums(group);
  return {own.first_sum, end};
}

void FileChecks::wrong_sums(int64_t group) const {
  throw file_error(Code::damaged, file_->path(),
                   "the checksums of the data of tasks " + std::to_string(group * group_tasks) +
                       " and on do not match their own");
}

std::vector<uint32_t> FileChecks::read_sums(int64_t first, int64_t count) {
  std::vector<uint32_t> all;
  const Section* const sums = trailer_.find(SectionKind::sums);
  for (int64_t task = first; task < first + count; task += group_tasks) {
    const int64_t group = task / group_tasks;
    const format::Group own = read_group(group);
    const auto [begin, end] = sums_of(group, own);
    std::vector<std::byte> bytes(static_cast<size_t>(4 * (end - begin)));
    if (!bytes.empty()) read_whole(*file_, bytes, sums->offset + 4 * begin, "checksums");
    if (format::hash_of(bytes) != own.sums) wrong_sums(group);
    for (size_t i = 0; i < bytes.size(); i += 4) all.push_back(load<uint32_t>(&bytes[i], ByteOrder::little));
  }
  return all;
}

void FileChecks::check_sums(int64_t first, int64_t count) {
  const Section* const sums = trailer_.find(SectionKind::sums);
  std::vector<std::byte> bytes;
  for (int64_t task = first; task < first + count; task += group_tasks) {
    const int64_t group = task / group_tasks;
    const format::Group own = read_group(group);
    const auto [begin, end] = sums_of(group, own);
    format::Hash hash;
    for (int64_t at = 4 * begin; at < 4 * end; at += std::ssize(bytes)) {
      bytes.resize(static_cast<size_t>(std::min(bytes_at_once, 4 * end - at)));
      read_whole(*file_, bytes, sums->offset + at, "checksums");
      hash.add(bytes);
    }
    if (hash.value() != own.sums) wrong_sums(group);
  }
}

void read_sums(File& file, int64_t at, std::span<uint32_t> sums) {
  read_whole(file, std::as_writable_bytes(sums), at, "checksums");
  if constexpr (native_order != ByteOrder::little)
    for (uint32_t& sum : sums)
      sum = load<uint32_t>(std::as_bytes(std::span(&sum, 1)).data(), ByteOrder::little);
}

}  // namespace sheaf
