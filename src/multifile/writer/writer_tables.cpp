// Writes block tables, checksums and the mapping at close, by the metadata writers.
#include <algorithm>

#include "base/checked.hpp"
#include "comm/agree.hpp"
#include "layout/slices.hpp"
#include "multifile/stream/file_checks.hpp"
#include "multifile/writer/block_table.hpp"
#include "multifile/writer/writer.hpp"

namespace sheaf::multifile {

std::vector<Segment> Writer::own_segment(const MetadataPartition& slices) const {
  if (!slices.is_metadata_writer()) return {};
  const OwnTask& t = mine_.tasks[0];
  return {{t.place.file, facts_.fsblksize, slices.first(), slices.count(), t.file_tasks, t.geometry.skip, 0}};
}

// Combines the segments of each file into the final state of the file. Collective.
std::vector<EndedSegment> Writer::find_ends(MetadataPartition& slices, std::span<const Segment> segments,
                                            const BlockTable& table, const SliceSums& sums,
                                            std::optional<Error>& problem) {
  std::vector<SegmentSums> own;
  for (const Segment& s : segments) {
    SegmentSums& mine = own.emplace_back();
    for (size_t row = s.row; row < s.end(); ++row) mine.sum += sums.count(row);
    for (const int64_t blocks : s.of(table.counts()))
      mine.largest = std::max(mine.largest, blocks > 0 ? blocks : INT64_MAX);
  }
  const std::vector<FileSums> files = slices.add_up(segments, own);
  std::vector<EndedSegment> ended;
  for (const FileSums& file : files) {
    const size_t number = ended.size();
    EndedSegment& s = ended.emplace_back(EndedSegment{segments[number], number});
    if (s.count == s.file_tasks && !old()) {
      s.may_have_journal = false;
      for (size_t row = s.row; row < s.end(); ++row) s.may_have_journal |= table.may_have_journal(row);
    }
    if (grouped_) {
      s.identity = stream_.target().journal_key().identity;
      s.piece = stream_.blocks().piece;
    } else if (const auto& e = old() ? old()->extensions[number] : placed_->extension) {
      s.identity = e->identity;
      s.piece = e->checksums() ? e->piece : 0;
    }
    if (file.largest == INT64_MAX) continue;
    attempt(problem, [&] {
      const auto end = layout::end_of_rounds(s.file_tasks, s.fsblksize, file.largest, s.skip);
      s.pointer = {static_cast<int32_t>(file.largest), must_fit(end, "the multifile")};
      s.sums_before = file.before;
      s.sums = file.sum;
      s.sound = true;
    });
  }
  return ended;
}

// Writes a metadata writer's part of META2 and of the trailers, unless a task of its files has failed. Local,
// except for the rounds of checksums.
void Writer::write_tables(std::span<const EndedSegment> segments, const BlockTable& table, SliceSums& sums,
                          SumRounds& rounds) {
  if (!std::ranges::all_of(segments, &EndedSegment::sound)) return;
  for (const EndedSegment& s : segments) write_table(s, table, sums, rounds);
}

void Writer::write_table(const EndedSegment& segment, const BlockTable& table, SliceSums& sums,
                         SumRounds& rounds) {
  int64_t own_sums = 0;
  for (size_t t = segment.row; t < segment.end(); ++t) own_sums += sums.count(t);
  change_file(segment, [&](File& file, const format::Header& h) {
    // When appending, the file was checked before it was changed.
    if (!old() && (!grouped_ || stream_.target().journal_key().may_mark()))
      require_unfinished(file, h.pointer_offset());
    // A metadata writer cannot check the identity if the header was written on another host and is not
    // published yet.
    if ((segment.first == 0 || !own_caches_) && !kept_open(segment.file))
      require_same_file(file, segment.identity);
    MetadataWriter writer(file, h);
    // Block size in rounds that a task has not used. Parallel and serial writers of the format store 0,
    // mapped writers -1.
    const int64_t unused = old() ? old()->unused : alone_ || grouped_ ? 0 : -1;
    write_block_table(
        writer, segment.pointer, segment.first, segment.of(table.counts()),
        [&](size_t t, int64_t block) { return table.size_of(segment.row + t, block); }, unused);
    if (grouped_ && blockwise_ && segment.file == 0) {
      // Every task can compute this mapping. The metadata writers of file 0 therefore write equal shares of
      // it without communication.
      const auto share = [&](int64_t task) {
        return std::min(ntasks_,
                        task * format::groups_of(ntasks_) / segment.file_tasks * format::group_tasks);
      };
      write_mapping(file, h, segment, share(segment.first), share(segment.first + segment.count),
                    [&](int64_t task) {
                      return layout::place_blockwise(static_cast<int32_t>(task),
                                                     static_cast<int32_t>(ntasks_), facts_.nfiles);
                    });
    }
    if (segment.piece == 0) return;
    // Only the metadata writer that writes the footer needs the names, which follow all other sections.
    const bool first = segment.first == 0;
    const auto more = placed_ && first && segment.file == 0 ? std::span<const MoreSection>(placed_->names)
                                                            : std::span<const MoreSection>();
    const format::Trailer plan = plan_trailer(h, segment.pointer, segment.identity, segment.sums,
                                              segment.file == 0 ? mapping_entries() : -1, more);
    TrailerWriter trailer(file, h, plan, segment.piece);
    trailer.begin_groups(segment.first, segment.count, segment.sums_before);
    sums.take(own_sums, rounds, [&](std::span<const std::byte> some) { trailer.add_sums(some); });
    trailer.end_groups();
    trailer.write_more(more);
    if (first) trailer.write_footer();
  });
}

// Writes entries [begin, end) of the mapping, and their checksums, to file 0. Local.
void Writer::write_mapping(File& file, const format::Header& h, const EndedSegment& lead, int64_t begin,
                           int64_t end, const std::function<layout::Placement(int64_t task)>& place_of) {
  constexpr int64_t at_once = 4 * format::group_tasks;
  MetadataWriter writer(file, h);
  if (begin == 0) writer.write_mapping_size(lead.pointer, static_cast<int32_t>(mapping_entries()));
  layout::for_each_slice<layout::Placement>(begin, end, at_once,
                                            [&](int64_t from, std::span<layout::Placement> entries) {
                                              for (int64_t task = from; layout::Placement & entry : entries)
                                                entry = place_of(task++);
                                              writer.write_mapping(lead.pointer, from, entries);
                                            });
  if (lead.piece == 0) return;
  const format::Trailer plan = plan_trailer(h, lead.pointer, {}, lead.sums, mapping_entries());
  TrailerWriter(file, h, plan, lead.piece).write_mapping(begin, end - begin, mapping_entries());
}

// Writes a mapping with entries that only the tasks, or the metadata writers of slices of task numbers, know.
// With several hosts, the process that writes the surrounding bytes writes all of the mapping. Collective.
void Writer::write_known_mapping(const Lead& lead) {
  std::vector<layout::Placement> gathered;
  std::optional<MetadataPartition> by_rank;
  if (grouped_) {
    by_rank.emplace(*comm_, comm_->node_count() > 1 ? Slicing::whole : Slicing::groups,
                    static_cast<int>(lead.process));
    const auto mine = std::as_bytes(std::span(&mine_.tasks[0].place, 1));
    gathered = records_of<layout::Placement>(by_rank->collect_piece(0, mine));
  }
  const MetadataPartition* const slices = by_rank ? &*by_rank : placed_->numbers.get();
  const std::span<const layout::Placement> entries = grouped_ ? std::span(gathered) : placed_->mapping;
  const int64_t first = slices ? slices->first() : 0;
  if (slices && !slices->is_metadata_writer()) return;
  change_file(lead.file(), [&](File& file, const format::Header& h) {
    write_mapping(file, h, lead.file(), first, first + std::ssize(entries),
                  [&](int64_t task) { return entries[static_cast<size_t>(task - first)]; });
  });
}

// Plans the rounds in which metadata writers receive the checksums that were not sent with the rows. A round
// has one gather to each metadata writer that still lacks some. A process that does not get the position of
// its checksums from a metadata writer sends none, and the metadata writer fails. Collective.
SumRounds Writer::plan_rounds(MetadataPartition& slices, const BlockTable& table, const SliceSums& sums,
                              const Closing& closing, std::optional<Error>& problem) {
  struct Brought {
    int64_t begin;
    std::span<const uint32_t> sums;
  };
  const std::vector<int64_t> in_rounds = slices.share(sums.in_rounds());
  std::vector<std::vector<Brought>> own(in_rounds.size());  // by metadata writer, in row order
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
    if (answer.size() != 8 * mine_.tasks.size()) return;
    const std::byte* begin = answer.data();
    for_each_row(closing, [&](size_t, const RowView& row, std::span<const uint32_t> brought) {
      if (row.sums_follow())
        own[static_cast<size_t>(slices.metadata_writer_of(row.row()))].push_back(
            {load<int64_t>(begin, native_order), brought});
      begin += 8;
    });
  });
  return {rounds_of(std::ranges::max(in_rounds)), [&slices, in_rounds, own = std::move(own)](int64_t round) {
            Gathered window;
            for (size_t l = 0; l < in_rounds.size(); ++l) {
              if (round >= rounds_of(in_rounds[l])) continue;
              std::span<const uint32_t> piece;
              std::vector<uint32_t> joined;
              attempt([&] {
                std::vector<std::span<const uint32_t>> parts;
                const auto first = std::ranges::partition_point(own[l], [&](const Brought& b) {
                  return b.begin + std::ssize(b.sums) <= round * sums_of_window;
                });
                for (auto b = first; b != own[l].end() && b->begin < (round + 1) * sums_of_window; ++b)
                  parts.push_back(part_in_window(b->sums, b->begin, round));
                if (parts.size() == 1) {
                  piece = parts[0];
                  return;
                }
                joined.reserve(parts.empty() ? 0 : sums_of_window);
                for (const auto& part : parts) joined.insert(joined.end(), part.begin(), part.end());
                piece = joined;
              });
              Gathered all = slices.collect_piece(static_cast<int>(l), std::as_bytes(piece));
              if (static_cast<int>(l) == slices.number()) window = std::move(all);
            }
            return window;
          }};
}

}  // namespace sheaf::multifile
