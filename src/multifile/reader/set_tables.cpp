#include "multifile/reader/set_tables.hpp"

#include <algorithm>
#include <iterator>

#include "base/checked.hpp"
#include "comm/agree.hpp"
#include "multifile/generation/generation.hpp"
#include "multifile/stream/file_checks.hpp"
#include "storage/retries.hpp"
#include "storage/store.hpp"

namespace sheaf::multifile {

using layout::Placement;

namespace {

// Answer of a metadata task for one row, followed by the block sizes of the row.
struct RowAnswer {
  layout::ChunkGeometry geometry;
  int32_t fsblksize;
  int32_t blocks;
  SumsPlace sums;
};

template <class Value>
void append(std::vector<std::byte>& bytes, const Value& value) {
  const auto more = std::as_bytes(std::span(&value, 1));
  bytes.insert(bytes.end(), more.begin(), more.end());
}

// Returns the answers of a metadata task: the requested rows of its `table`. For rows by rank, each process
// gets the row of its rank.
Gathered answer_rows(const Gathered& asked, const MetadataPartition& slices,
                     std::span<const Segment> segments, TableSlice& table) {
  const size_t count = slices.by_rank() ? table.sizes.size() : asked.bytes.size() / sizeof(TaskRequest);
  const auto row_of = [&](size_t k) {
    if (slices.by_rank()) return k;
    return static_cast<size_t>(load<int64_t>(&asked.bytes[k * sizeof(TaskRequest)], native_order) -
                               slices.first());
  };
  size_t bytes = count * sizeof(RowAnswer);
  for (size_t k = 0; k < count; ++k) bytes += 8 * static_cast<size_t>(table.counts[row_of(k)]);
  Gathered answers;
  answers.bytes.reserve(bytes);
  answers.sizes = slices.by_rank() ? std::vector<int64_t>(count, sizeof(TaskRequest)) : asked.sizes;
  table.readers.resize(slices.by_rank() ? 0 : table.sizes.size());
  size_t next = 0;
  for (int64_t& size : answers.sizes) {
    const size_t begin = answers.bytes.size();
    for (size_t n = static_cast<size_t>(size) / sizeof(TaskRequest); n > 0; --n) {
      const size_t row = row_of(next++);
      if (!slices.by_rank()) ++table.readers[row];
      const Segment& s = *std::prev(std::ranges::upper_bound(segments, row, {}, &Segment::row));
      const auto local_rank = static_cast<int32_t>(s.first + static_cast<int64_t>(row - s.row));
      append(answers.bytes, RowAnswer{{table.starts[row], s.skip, table.sizes[row]},
                                      s.fsblksize,
                                      static_cast<int32_t>(table.counts[row]),
                                      {table.sums[row].at, table.sums[row].piece, local_rank}});
      for (int64_t b = 0; b < table.counts[row]; ++b) append(answers.bytes, table.block(row, b));
    }
    size = static_cast<int64_t>(answers.bytes.size() - begin);
  }
  return answers;
}

std::vector<Readable> rows_of(std::span<const std::byte> answers, size_t count) {
  const auto held = std::make_shared<std::vector<int64_t>>((answers.size() - count * sizeof(RowAnswer)) / 8);
  int64_t* sizes = held->data();
  std::vector<Readable> rows;
  for (const std::byte* next = answers.data(); rows.size() < count;) {
    RowAnswer answer;
    std::memcpy(&answer, next, sizeof answer);
    next += sizeof answer;
    rows.push_back({.fsblksize = answer.fsblksize,
                    .geometry = answer.geometry,
                    .sizes = {sizes, answer.blocks},
                    .held = held,
                    .sums = answer.sums});
    for (int32_t b = 0; b < answer.blocks; ++b, next += 8) *sizes++ = load<int64_t>(next, native_order);
  }
  return rows;
}

// Truncates blocks of the segment to the bytes that certainly belong to their task. An append refuses files
// with such blocks.
void cut_overruns(const Segment& s, MetadataReader& reader, const format::Pointer& p, TableSlice& table) {
  for (const auto& block : reader.find_overruns(p)) {
    const int64_t task = block.entry % s.file_tasks - s.first;
    if (task >= 0 && task < s.count)
      table.set_block(s.row + static_cast<size_t>(task), block.entry / s.file_tasks, block.own);
  }
}

// Computes the chunk offsets of segment `number` of the table, and validates its blocks.
void place_segment(Segment& s, const FileSums& sums, size_t number, File& file, TableSlice& table,
                   bool appends) {
  MetadataReader checker(file, table.headers[number]);
  const format::Pointer& p = table.pointers[number];
  const auto end = checked_add(layout::data_start(s.file_tasks, s.fsblksize), sums.sum);
  if (!end) checker.damaged("the chunk sizes add up to more than 2^63 bytes");
  s.skip = sums.sum;
  checker.check_pointer(p, s.skip);
  int64_t start = *end - s.skip + sums.before;
  bool overruns = false;
  for (int64_t k = 0; k < s.count; ++k) {
    const size_t row = table.starts.size();
    table.starts.push_back(start);
    for (int64_t b = 0; b < table.counts[row]; ++b) {
      checker.check_block(p, {start, s.skip, table.sizes[row]}, s.first + k, b, table.block(row, b));
      overruns |= table.block(row, b) > table.sizes[row];
    }
    start += table.sizes[row];
  }
  if (overruns && !appends) cut_overruns(s, checker, p, table);
}

}  // namespace

SetLead SetTables::read_lead(Comm& comm, std::shared_ptr<File>& file) const {
  SetLead lead;
  const auto unread = attempt([&] {
    if (comm.rank() != 0) return;
    file = store_->open(path_, Access::read);
    MetadataReader reader = reader_of(*file);
    const format::Pointer pointer = reader.read_pointer();
    const format::Header& h = reader.header();
    const auto identity = read_identity(*file);
    const int64_t tasks = h.leads_set() ? reader.read_mapping_size(pointer) : h.ntasks;
    lead = {.header = h,
            .pointer = pointer,
            .ntasks = tasks,
            .identity = identity,
            .is_read = true,
            .unclosed = !pointer.complete()};
    if (checking_ == Checking::on) lead.extension = reader.extension();
    attempt([&] { lead.watched = FileIdentity::of(h, pointer, reader.extension()); });
  });
  comm.broadcast(std::as_writable_bytes(std::span(&lead, 1)), 0);
  if (!lead.is_read) agree(comm, unread);
  return lead;
}

std::vector<Placement> SetTables::find_places(Comm& comm, MetadataPartition numbers, const SetLead& lead,
                                              std::span<const TaskRequest> wanted,
                                              const std::shared_ptr<File>& lead_file) const {
  std::optional<Error> problem;
  auto places = numbers.ask<Placement>(wanted, problem, [&](const std::vector<TaskRequest>& asked) {
    std::vector<Placement> entries(static_cast<size_t>(numbers.count())), found;
    if (entries.empty()) return found;
    const auto file = lead_file ? lead_file : open(0);
    MetadataReader reader = reader_of(*file);
    if (FileChecks* const checks = reader.checks(lead.pointer))
      checks->check_mapping(numbers.first(), numbers.count(), lead.ntasks);
    reader.read_mapping(lead.pointer, numbers.first(), entries);
    for (const TaskRequest& r : asked) found.push_back(entries[static_cast<size_t>(r.row - numbers.first())]);
    return found;
  });
  agree(comm, problem);
  return places;
}

std::vector<Placement> SetTables::read_mapping() const {
  const auto file = store_->open(path_, Access::read);
  MetadataReader reader = reader_of(*file);
  const bool set = reader.header().leads_set();
  const format::Pointer p = reader.read_pointer();
  const int64_t tasks = set ? reader.read_mapping_size(p) : reader.header().ntasks;
  std::vector<Placement> entries(static_cast<size_t>(tasks));
  if (set) {
    if (FileChecks* const checks = reader.checks(p)) checks->check_mapping(0, tasks, tasks);
    reader.read_mapping(p, 0, entries);
  } else {
    for (size_t t = 0; t < entries.size(); ++t) entries[t].local_rank = static_cast<int32_t>(t);
  }
  return entries;
}

void SetTables::check_member(const MetadataReader& reader, const SetLead& lead, int32_t number) const {
  const format::Header& h = reader.header();
  if (h.nfiles != lead.header.nfiles || (lead.header.leads_set() && h.filenumber != number))
    reader.damaged("is file " + std::to_string(h.filenumber) + " of " + std::to_string(h.nfiles) +
                   ", not file " + std::to_string(number) + " of the set '" + path_ + "' of " +
                   std::to_string(lead.header.nfiles));
  if (h.compressed != lead.header.compressed)
    reader.damaged("is compressed or not, unlike file 0 of its set");
}

// Reads the columns of one segment into the table.
SegmentSums SetTables::read_segment(Segment& s, const SetLead& lead, File& file, TableSlice& table,
                                    bool appends) const {
  MetadataReader reader = reader_of(file);
  check_member(reader, lead, s.file);
  if (lead.extension) require_same_open(lead.extension, reader);
  if (reader.header().ntasks != s.file_tasks)
    reader.damaged("has " + std::to_string(reader.header().ntasks) + " tasks, where its set has " +
                   std::to_string(s.file_tasks) + " for it");
  s.fsblksize = reader.header().fsblksize;
  const format::Pointer p = reader.read_pointer();
  std::vector<SumsPlace> places(static_cast<size_t>(s.count));
  if (FileChecks* const checks = reader.checks(p)) {
    places = checks->check_tasks(s.first, s.count);
    if (appends) checks->check_sums(s.first, s.count);
  }
  table.sums.insert(table.sums.end(), places.begin(), places.end());
  const size_t before = table.sizes.size();
  table.read(reader, p, s);
  SegmentSums sums;
  for (const int64_t size : std::span(table.sizes).subspan(before)) sums.sum = saturated_add(sums.sum, size);
  return sums;
}

std::vector<Readable> SetTables::read_rows(Comm& comm, SetLead& lead, PartitionRows& tables,
                                           std::span<const TaskRequest> wanted,
                                           const std::function<std::shared_ptr<File>(int32_t)>& open,
                                           std::optional<Error> problem) const {
  auto& [rows, segments, old, appends] = tables;
  MetadataPartition& slices = *rows;
  TableSlice read_only;
  old = appends ? std::make_unique<TableSlice>() : nullptr;
  TableSlice& table = old ? *old : read_only;
  std::vector<SegmentSums> sums(segments.size());
  if (!problem)
    problem = attempt([&] {
      for (size_t s = 0; s < segments.size(); ++s)
        sums[s] = read_segment(segments[s], lead, *open(segments[s].file), table, appends);
    });
  const std::vector<FileSums> of_files = slices.add_up(segments, sums, MetadataPartition::WantedSums::sums);
  const Gathered asked = slices.by_rank() ? Gathered{} : slices.collect(wanted);
  Gathered answers;
  int64_t unclosed = lead.unclosed;
  if (!problem)
    problem = attempt([&] {
      table.starts.reserve(table.sizes.size());
      for (size_t s = 0; s < segments.size(); ++s)
        place_segment(segments[s], of_files[s], s, *open(segments[s].file), table, appends);
      answers = answer_rows(asked, slices, segments, table);
      for (const Segment& s : segments)
        if (appends && table.sums[s.row].piece > 0) table.keep_sums(*open(s.file), s);
      for (const format::Pointer& p : table.pointers) unclosed |= !p.complete();
      if (!appends) table = {};
    });
  const std::vector<std::byte> mine = slices.answer(std::move(answers));
  agree(comm, problem, std::span(&unclosed, 1));
  lead.unclosed = unclosed != 0;
  return rows_of(mine, wanted.size());
}

}  // namespace sheaf::multifile
