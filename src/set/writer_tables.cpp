// What leaders write in the close of a multifile: block tables, checksums, mapping.
#include <algorithm>
#include <cstring>

#include "base/checked.hpp"
#include "comm/agree.hpp"
#include "set/block_table.hpp"
#include "set/writer.hpp"
#include "stream/file_checks.hpp"

namespace sheaf {

Writer::Guard Writer::guard_of(size_t segment) const {
  if (grouped_) return {stream_.journal_key().identity, stream_.piece()};
  const auto& e = old() ? old()->extensions[segment] : placed_->extension;
  return e ? Guard{e->identity, e->checksums() ? e->piece : 0} : Guard{};
}

std::vector<Segment> Writer::own_segment(const RowSlices& slices) const {
  if (!slices.leads()) return {};
  const OwnTask& t = mine_.tasks[0];
  return {{t.place.file, facts_.fsblksize, slices.first(), slices.count(), t.file_tasks, t.geometry.skip}};
}

// Collective. What follows for each segment from all segments of its file.
std::vector<Writer::SegmentEnd> Writer::find_ends(RowSlices& slices, std::span<const Segment> segments,
                                                  const BlockTable& table, const SliceSums& sums,
                                                  std::optional<Error>& problem) {
  std::vector<SegmentSums> own;
  size_t row = 0;
  for (const Segment& s : segments) {
    SegmentSums& mine = own.emplace_back();
    for (const size_t end = row + static_cast<size_t>(s.count); row < end; ++row) {
      const int64_t blocks = table.counts()[row];
      mine.sum += sums.count(row);
      mine.largest = std::max(mine.largest, blocks > 0 ? blocks : INT64_MAX);
    }
  }
  const std::vector<FileSums> files = slices.add_up(segments, own);
  std::vector<SegmentEnd> ends(segments.size());
  for (size_t s = 0; s < segments.size(); ++s) {
    if (files[s].largest == INT64_MAX) continue;
    const auto unfit = attempt([&] {
      const auto rounds = checked_mul(files[s].largest, segments[s].skip);
      const int64_t begin = layout::data_start(segments[s].file_tasks, segments[s].fsblksize);
      const int64_t end = must_fit(rounds ? checked_add(begin, *rounds) : rounds, "the multifile");
      ends[s] = {{static_cast<int32_t>(files[s].largest), end}, files[s].before, files[s].sum, true};
    });
    if (!problem) problem = unfit;
  }
  return ends;
}

// At a leader: its part of META2, and of the trailers, if no task of its files has failed. Local but for the
// rounds.
void Writer::write_tables(std::span<const Segment> segments, std::span<const SegmentEnd> ends,
                          const BlockTable& table, SliceSums& sums, SumRounds& rounds) {
  if (!std::ranges::all_of(ends, &SegmentEnd::sound)) return;
  size_t row = 0;
  for (size_t s = 0; s < segments.size(); row += static_cast<size_t>(segments[s++].count))
    write_table(segments[s], ends[s], guard_of(s), table, row, sums, rounds);
}

void Writer::write_table(const Segment& segment, const SegmentEnd& end, const Guard& guard,
                         const BlockTable& table, size_t row, SliceSums& sums, SumRounds& rounds) {
  const auto n = static_cast<size_t>(segment.count);
  int64_t own_sums = 0;
  for (size_t t = row; t < row + n; ++t) own_sums += sums.count(t);
  change_file(segment, [&](File& file, const format::Header& h) {
    // Whoever is appended to was looked at before it changed.
    if (!old() && (!grouped_ || stream_.journal_key().may_mark()))
      require_unfinished(file, h.pointer_offset());
    MetadataWriter writer(file, h);
    write_block_table(
        writer, end.pointer, segment.first, table.counts().subspan(row, n),
        [&](size_t t, int64_t block) { return table.size_of(row + t, block); }, unused_rounds());
    if (grouped_ && blockwise_ && segment.file == 0) {
      // Everybody can compute this mapping: the leaders of file 0 write equal shares of it without having to
      // ask.
      const auto share = [&](int64_t task) {
        return std::min(ntasks_,
                        task * format::groups_of(ntasks_) / segment.file_tasks * format::group_tasks);
      };
      write_mapping(file, h, end, guard.piece, share(segment.first), share(segment.first + segment.count),
                    [&](int64_t task) {
                      return layout::place_blockwise(static_cast<int32_t>(task),
                                                     static_cast<int32_t>(ntasks_), facts_.nfiles);
                    });
    }
    if (guard.piece == 0) return;
    // Of the names only who writes the footer needs to know: they lie behind all else.
    const bool first = segment.first == 0;
    const auto more = placed_ && first && segment.file == 0 ? std::span<const MoreSection>(placed_->names)
                                                            : std::span<const MoreSection>();
    const format::Trailer plan = plan_trailer(h, end.pointer, guard.identity, end.sums,
                                              segment.file == 0 ? mapping_entries() : -1, more);
    TrailerWriter trailer(file, h, plan, guard.piece);
    trailer.begin_groups(segment.first, segment.count, end.sums_before);
    sums.take(own_sums, rounds, [&](std::span<const std::byte> some) { trailer.add_sums(some); });
    trailer.end_groups();
    trailer.write_more(more);
    if (first) trailer.write_footer();
  });
}

// Local, into file 0: entries begin..end-1 of the mapping, and their checksums.
void Writer::write_mapping(File& file, const format::Header& h, const SegmentEnd& lead, uint32_t piece,
                           int64_t begin, int64_t end,
                           const std::function<layout::Placement(int64_t task)>& place_of) {
  constexpr int64_t at_once = 4 * format::group_tasks;
  MetadataWriter writer(file, h);
  if (begin == 0) writer.write_mapping_size(lead.pointer, static_cast<int32_t>(mapping_entries()));
  std::vector<layout::Placement> entries;
  for (int64_t from = begin; from < end; from += std::ssize(entries)) {
    entries.clear();
    for (int64_t t = from; t < std::min(from + at_once, end); ++t) entries.push_back(place_of(t));
    writer.write_mapping(lead.pointer, from, entries);
  }
  if (piece == 0) return;
  const format::Trailer plan = plan_trailer(h, lead.pointer, {}, lead.sums, mapping_entries());
  TrailerWriter(file, h, plan, piece).write_mapping(begin, end - begin, mapping_entries());
}

// Collective: a mapping that only the tasks, or leaders of slices of all tasks, know. Of several hosts it
// goes through the process that writes all that lies around it.
void Writer::write_known_mapping(const Lead& lead) {
  std::vector<layout::Placement> gathered;
  std::optional<RowSlices> by_rank;
  if (grouped_) {
    by_rank.emplace(*comm_, comm_->node_count() > 1 ? Slicing::whole : Slicing::groups,
                    static_cast<int>(lead.value[Lead::process]));
    const auto mine = std::as_bytes(std::span(&mine_.tasks[0].place, 1));
    gathered = records_of<layout::Placement>(by_rank->collect_piece(0, mine));
  }
  const RowSlices* const slices = by_rank ? &*by_rank : placed_->numbers.get();
  const std::span<const layout::Placement> entries = grouped_ ? std::span(gathered) : placed_->mapping;
  const int64_t first = slices ? slices->first() : 0;
  if (slices && !slices->leads()) return;
  change_file(lead.file(), [&](File& file, const format::Header& h) {
    write_mapping(file, h, lead.end(), static_cast<uint32_t>(lead.value[Lead::piece]), first,
                  first + std::ssize(entries),
                  [&](int64_t task) { return entries[static_cast<size_t>(task - first)]; });
  });
}

// Collective. The rounds in which leaders get the checksums that did not come with the rows: one gather to
// each leader that still lacks some. A process whose leader could not tell it where its own belong brings
// none, and the leader fails.
SumRounds Writer::plan_rounds(RowSlices& slices, const BlockTable& table, const SliceSums& sums,
                              const Closing& closing, std::optional<Error>& problem) {
  struct Brought {
    int64_t begin;
    std::span<const uint32_t> sums;
  };
  const std::vector<int64_t> in_rounds = slices.share(sums.in_rounds());
  std::vector<std::vector<Brought>> own(in_rounds.size());  // by leader, in the order of rows
  Gathered begins;  // of all that have come, in the order in which they did
  const auto uncounted = attempt([&] {
    std::vector<int64_t> of_rows(static_cast<size_t>(slices.count()));
    sums.for_each_begin([&](size_t row, int64_t begin) { of_rows[row] = begin; });
    begins.sizes.assign(table.processes(), 0);
    table.for_each_row([&](size_t process, size_t row, const RowView&) {
      const auto bytes = std::as_bytes(std::span(of_rows).subspan(row, 1));
      begins.bytes.insert(begins.bytes.end(), bytes.begin(), bytes.end());
      begins.sizes[process] += 8;
    });
  });
  if (!problem) problem = uncounted;
  const std::vector<std::byte> answer = slices.answer(std::move(begins));
  const auto unplanned = attempt([&] {
    if (answer.size() != 8 * mine_.tasks.size()) return;
    const std::byte* begin = answer.data();
    for_each_row(closing, [&](size_t, const RowView& row, std::span<const uint32_t> brought) {
      if (row.sums_follow())
        own[static_cast<size_t>(slices.leader_of(row.row()))].push_back(
            {load<int64_t>(begin, native_order), brought});
      begin += 8;
    });
  });
  if (!problem) problem = unplanned;
  int64_t rounds = 0;
  for (const int64_t n : in_rounds) rounds = std::max(rounds, rounds_of(n));
  return {rounds, [&slices, in_rounds, own = std::move(own)](int64_t round) {
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

}  // namespace sheaf
