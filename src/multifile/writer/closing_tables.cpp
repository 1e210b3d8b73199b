// Writes block tables, checksums and the mapping at close, by the metadata writers.
#include <algorithm>

#include "base/checked.hpp"
#include "comm/agree.hpp"
#include "layout/slices.hpp"
#include "multifile/stream/file_checks.hpp"
#include "multifile/writer/closing_steps.hpp"

namespace sheaf::multifile {

namespace {

// Checks, before a table is written, that the file still belongs to this open. When appending, the file was
// checked before it was changed.
void require_own_file(const OpenedSet& set, File& file, const format::Header& h,
                      const EndedSegment& segment) {
  // The file has a random temporary name, and a read would wait until all captured bytes are written.
  if (set.deferred()) return;
  if (!set.old() && (set.placed || set.stream->target().journal_key().may_mark()))
    require_unfinished(file, h.pointer_offset());
  // A metadata writer cannot check the identity if the header was written on another host and is not
  // published yet.
  if ((segment.first == 0 || !set.hosts.own_caches) && !kept_open(set, segment.file))
    require_same_file(file, segment.identity);
}

// Entries [begin, end) of the mapping.
struct MappingPart {
  int64_t begin, end;
  std::function<layout::Placement(int64_t task)> place_of;
};

// Writes a part of the mapping, and its checksums, to file 0. Local.
void write_mapping(const OpenedSet& set, File& file, const format::Header& h, const EndedSegment& lead,
                   const MappingPart& part) {
  constexpr int64_t at_once = 4 * format::group_tasks;
  const int32_t all = set.terms.mapping_entries;
  MetadataWriter writer(file, h);
  if (part.begin == 0) writer.write_mapping_size(lead.pointer, all);
  layout::for_each_slice<layout::Placement>(part.begin, part.end, at_once,
                                            [&](int64_t from, std::span<layout::Placement> entries) {
                                              for (int64_t task = from; layout::Placement & entry : entries)
                                                entry = part.place_of(task++);
                                              writer.write_mapping(lead.pointer, from, entries);
                                            });
  if (lead.piece == 0) return;
  const format::Trailer plan = plan_trailer(h, lead.pointer, {}, lead.sums, all);
  TrailerWriter(file, h, plan, lead.piece).write_mapping(part.begin, part.end - part.begin, all);
}

// Writes this metadata writer's share of a mapping that every task can compute. The metadata writers of file
// 0 write equal shares without communication. Local.
void write_blockwise_mapping(const OpenedSet& set, File& file, const format::Header& h,
                             const EndedSegment& segment) {
  const int64_t n = set.ntasks;
  const auto share = [&](int64_t task) {
    return std::min(n, task * format::groups_of(n) / segment.file_tasks * format::group_tasks);
  };
  write_mapping(set, file, h, segment,
                {share(segment.first), share(segment.first + segment.count), [&](int64_t task) {
                   return layout::place_blockwise(static_cast<int32_t>(task), static_cast<int32_t>(n),
                                                  set.facts.nfiles);
                 }});
}

// Writes a metadata writer's part of the trailer. Local, except for the rounds of checksums.
void write_trailer(const OpenedSet& set, File& file, const format::Header& h, const EndedSegment& segment,
                   SliceSums& sums, SumRounds& rounds) {
  int64_t own_sums = 0;
  for (size_t t = segment.row; t < segment.end(); ++t) own_sums += sums.count(t);
  // Only the metadata writer that writes the footer needs the names, which follow all other sections.
  const bool first = segment.first == 0;
  const auto more = set.placed && first && segment.file == 0 ? std::span<const MoreSection>(set.placed->names)
                                                             : std::span<const MoreSection>();
  const format::Trailer plan = plan_trailer(h, segment.pointer, segment.identity, segment.sums,
                                            segment.file == 0 ? set.terms.mapping_entries : -1, more);
  TrailerWriter trailer(file, h, plan, segment.piece);
  trailer.begin_groups(segment.first, segment.count, segment.sums_before);
  sums.take(own_sums, rounds, [&](std::span<const std::byte> some) { trailer.add_sums(some); });
  trailer.end_groups();
  trailer.write_more(more);
  if (first) trailer.write_footer();
}

void write_table(const OpenedSet& set, const EndedSegment& segment, const BlockTable& table, SliceSums& sums,
                 SumRounds& rounds) {
  change_file(set, segment, [&](File& file, const format::Header& h) {
    require_own_file(set, file, h, segment);
    MetadataWriter writer(file, h);
    write_block_table(
        writer, segment.pointer, segment.first, segment.of(table.counts()),
        [&](size_t t, int64_t block) { return table.size_of(segment.row + t, block); }, set.terms.unused);
    if (set.terms.is_blockwise && segment.file == 0) write_blockwise_mapping(set, file, h, segment);
    if (segment.piece > 0) write_trailer(set, file, h, segment, sums, rounds);
  });
}

}  // namespace

std::vector<EndedSegment> find_ends(const OpenedSet& set, MetadataPartition& slices,
                                    std::span<const Segment> segments, const BlockTable& table,
                                    const SliceSums& sums, std::optional<Error>& problem) {
  std::vector<SegmentSums> own;
  for (const Segment& s : segments) {
    SegmentSums& mine = own.emplace_back();
    for (size_t row = s.row; row < s.end(); ++row) mine.sum += sums.count(row);
    for (const int64_t blocks : s.of(table.counts()))
      mine.largest = std::max(mine.largest, blocks > 0 ? blocks : INT64_MAX);
  }
  std::vector<EndedSegment> ended;
  for (const FileSums& file : slices.add_up(segments, own)) {
    const size_t number = ended.size();
    EndedSegment& s = ended.emplace_back(EndedSegment{segments[number], number});
    if (s.count == s.file_tasks && !set.old()) {
      s.may_have_journal = false;
      for (size_t row = s.row; row < s.end(); ++row) s.may_have_journal |= table.may_have_journal(row);
    }
    if (!set.placed) {
      s.identity = set.stream->target().journal_key().identity;
      s.piece = set.stream->blocks().piece;
    } else if (const auto& e = set.old() ? set.old()->extensions[number] : set.placed->extension) {
      s.identity = e->identity;
      s.piece = e->checksums() ? e->piece : 0;
    }
    if (file.largest == INT64_MAX) continue;
    attempt(problem, [&] {
      s.pointer = {
          static_cast<int32_t>(file.largest),
          must_fit(layout::end_of_rounds(s.file_tasks, s.fsblksize, file.largest, s.skip), "the multifile")};
      s.sums_before = file.before;
      s.sums = file.sum;
      s.sound = true;
    });
  }
  return ended;
}

bool write_tables(const OpenedSet& set, std::span<const EndedSegment> segments, const BlockTable& table,
                  SliceSums& sums, SumRounds& rounds) {
  if (!std::ranges::all_of(segments, &EndedSegment::sound)) return false;
  for (const EndedSegment& s : segments) write_table(set, s, table, sums, rounds);
  return true;
}

void write_known_mapping(const OpenedSet& set, const ClosingLead& lead) {
  std::vector<layout::Placement> gathered;
  std::optional<MetadataPartition> by_rank;
  if (!set.placed) {
    by_rank.emplace(*set.comm, set.comm->node_count() > 1 ? Slicing::whole : Slicing::groups,
                    static_cast<int>(lead.process));
    gathered = records_of<layout::Placement>(
        by_rank->collect_piece(0, std::as_bytes(std::span(&set.tasks[0].place, 1))));
  }
  const MetadataPartition* const slices = by_rank ? &*by_rank : set.placed->numbers.get();
  const std::span<const layout::Placement> entries = by_rank ? std::span(gathered) : set.placed->mapping;
  const int64_t first = slices ? slices->first() : 0;
  if (!slices || slices->is_metadata_writer()) write_mapping_of(set, lead.file(), first, entries);
}

void write_mapping_of(const OpenedSet& set, const EndedSegment& lead, int64_t first,
                      std::span<const layout::Placement> entries) {
  const auto place_of = [&](int64_t task) { return entries[static_cast<size_t>(task - first)]; };
  change_file(set, lead, [&](File& file, const format::Header& h) {
    write_mapping(set, file, h, lead, {first, first + std::ssize(entries), place_of});
  });
}

format::CompletionMark mark_of(const OpenedSet& set, const EndedSegment& segment) {
  const format::Header header = header_of(set, segment.file, segment.file_tasks, segment.fsblksize);
  return {segment.file, header.pointer_offset(), format::encode(segment.pointer, header.metadata_order)};
}

namespace {

// The checksums of a task that are sent in rounds, and their position among those of the slice.
struct SumsInRounds {
  int64_t begin;
  std::span<const uint32_t> sums;
};

// Returns the checksums of `tasks` that are sent in a round. Concatenates them in `joined` if they are of
// several tasks.
std::span<const uint32_t> sums_of_round(std::span<const SumsInRounds> tasks, int64_t round,
                                        std::vector<uint32_t>& joined) {
  std::vector<std::span<const uint32_t>> parts;
  const auto first = std::ranges::partition_point(
      tasks, [&](const SumsInRounds& t) { return t.begin + std::ssize(t.sums) <= round * sums_of_window; });
  for (auto t = first; t != tasks.end() && t->begin < (round + 1) * sums_of_window; ++t)
    parts.push_back(part_in_window(t->sums, t->begin, round));
  if (parts.size() == 1) return parts[0];
  joined.reserve(parts.empty() ? 0 : sums_of_window);
  for (const auto& part : parts) joined.insert(joined.end(), part.begin(), part.end());
  return joined;
}

}  // namespace

SumRounds plan_rounds(const LocalTasks& mine, const ClosingRows& rows, MetadataPartition& slices,
                      const BlockTable& table, const SliceSums& sums, std::optional<Error>& problem) {
  const std::vector<int64_t> in_rounds = slices.share(sums.in_rounds());
  std::vector<std::vector<SumsInRounds>> own(in_rounds.size());  // by metadata writer, in row order
  Gathered begins;  // answers to all received rows, in the order of the processes
  attempt(problem, [&] {
    std::vector<int64_t> of_rows(static_cast<size_t>(slices.count()));
    sums.for_each_begin([&](size_t row, int64_t begin) { of_rows[row] = begin; });
    begins.sizes.assign(table.processes(), 0);
    table.for_each_row([&](size_t process, size_t row, const RowView&) {
      const auto bytes = std::as_bytes(std::span(of_rows).subspan(row, 1));
      begins.bytes.insert(begins.bytes.end(), bytes.begin(), bytes.end());
      begins.sizes[process] += 8;
    });
  });
  const std::vector<std::byte> answer = slices.answer(std::move(begins));
  attempt(problem, [&] {
    if (answer.size() != 8 * mine.tasks.size()) return;
    const std::byte* begin = answer.data();
    rows.for_each(mine, [&](size_t, const RowView& row, std::span<const uint32_t> task_sums) {
      if (row.sums_follow())
        own[static_cast<size_t>(slices.metadata_writer_of(row.row()))].push_back(
            {load<int64_t>(begin, native_order), task_sums});
      begin += 8;
    });
  });
  return {rounds_of(std::ranges::max(in_rounds)), [&slices, in_rounds, own = std::move(own)](int64_t round) {
            Gathered window;
            for (size_t l = 0; l < in_rounds.size(); ++l) {
              if (round >= rounds_of(in_rounds[l])) continue;
              std::span<const uint32_t> piece;
              std::vector<uint32_t> joined;
              attempt([&] { piece = sums_of_round(own[l], round, joined); });
              Gathered all = slices.collect_piece(static_cast<int>(l), std::as_bytes(piece));
              if (static_cast<int>(l) == slices.number()) window = std::move(all);
            }
            return window;
          }};
}

}  // namespace sheaf::multifile
