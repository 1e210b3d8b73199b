// Closing a mapped multifile. Order on disk: data, then block tables and mapping, then the pointers that make
// the files complete.
#include <algorithm>

#include "base/checked.hpp"
#include "comm/agree.hpp"
#include "set/writer.hpp"
#include "storage/patience.hpp"
#include "stream/file_checks.hpp"

namespace sheaf {

// What a leader got of every task; what is not among it stays as it was.
struct Writer::BlockTable {
  BlockTable(const Gathered& collected, const RowSlices& slices, const TableSlice* before)
      : old(before),
        counts(static_cast<size_t>(slices.count()), 1),
        rows(counts.size(), RowView({})),
        sources(counts.size()) {
    if (old) counts = old->counts;
    for_each_row(collected, slices, [&](int process, size_t row, const RowView& view) {
      rows[row] = view;
      counts[row] = view.blocks();
      sources[row] = process;
    });
  }
  // visit(process, number in the slice, RowView), in the order in which they came.
  template <class Visit>
  static void for_each_row(const Gathered& collected, const RowSlices& slices, Visit&& visit) {
    std::span<const std::byte> bytes = collected.bytes;
    for (size_t process = 0; process < collected.sizes.size(); ++process) {
      auto own = bytes.first(static_cast<size_t>(collected.sizes[process]));
      bytes = bytes.subspan(own.size());
      while (!own.empty()) {
        const auto row = static_cast<size_t>(load<int64_t>(own.data(), native_order) - slices.first());
        const auto length = static_cast<size_t>(load<int64_t>(own.data() + 8, native_order));
        visit(static_cast<int>(process), row, RowView(own.subspan(16, length)));
        own = own.subspan(16 + length);
      }
    }
  }
  int64_t size_of(size_t row, int64_t block) const {
    return rows[row].empty() ? old->block(row, block) : rows[row].size_of(block);
  }

  SliceSums sums() const {
    SliceSums sums;
    sums.reserve(rows.size());
    auto kept = old ? std::as_bytes(std::span(old->data_sums)) : std::span<const std::byte>();
    for (size_t row = 0; row < rows.size(); ++row) {
      if (rows[row].empty()) {
        const int64_t count = old ? old->count_sums(row) : 0;
        sums.add(count, kept.first(static_cast<size_t>(4 * count)), 0);
        kept = kept.subspan(static_cast<size_t>(4 * count));
      } else {
        sums.add(rows[row].sums(), rows[row].sums_here(), sources[row]);
      }
    }
    return sums;
  }

  const TableSlice* old;
  std::vector<int64_t> counts;
  std::vector<RowView> rows;
  std::vector<int> sources;  // processes
};

// Where file 0 keeps the mapping, as all processes learn it; and whether checksums follow in rounds.
struct Writer::Lead {
  enum Value : size_t { varheader, maxblocks, of_file, fsblksize, writes, piece, sums, sums_follow, values };
  std::array<int64_t, values> value{};

  format::Pointer pointer() const { return {static_cast<int32_t>(value[maxblocks]), value[varheader]}; }
  Segment file() const { return {0, static_cast<int32_t>(value[fsblksize]), 0, 0, value[of_file], 0}; }
};

void Writer::close() {
  std::vector<std::byte> row;
  try {
    grouped_ ? finish_group(row) : finish();
  } catch (...) {
    attempt([&] {
      if (stream_.handle()) stream_.handle()->close();
    });
    if (grouped_ && stream_.keeps_journal() && !collecting_) report_row(row);
    throw;
  }
}

// Local: all bytes are in the files, and what every task has written is known.
void Writer::finish_streams() {
  finish_frames();
  if (const auto handle = stream_.release_handle()) handle->close();
  if (!mine_.tasks.empty()) park();
  for (OwnFile& f : mine_.files)
    if (f.handle) f.handle->close();
  for (size_t i = 0; i < mine_.tasks.size(); ++i) {
    const OwnTask& t = mine_.tasks[i];
    File& file = *mine_.files[t.file].file;
    placed_->own_sums.push_back(blocks_[i].take_sums(file, t.geometry));
    placed_->own_rows.push_back(
        row_of(blocks_[i], placed_->own_sums[i], most_sums_in_row(placed_->rows->largest())));
    if (placed_->losses) continue;
    placed_->losses = attempt([&] {
      require_tails(written(i), file.path());
      overruns_.check(file, written(i, placed_->own_sums[i]));
    });
  }
  for (OwnFile& f : mine_.files) {
    if (facts_.durable) f.file->sync();
    if (!alone_) f.file->close();
  }
  stream_.require_nothing_lost();
  if (hosts_.count == 1) return;  // else a leader looks at the journals before it removes them
  stream_.release_journal();
  for (OwnFile& f : mine_.files) f.journal.reset();
}

void Writer::finish() {
  auto problem = attempt([&] { finish_streams(); });
  const Gathered collected = collect_blocks();
  int64_t overran = std::ranges::any_of(blocks_, [](const TaskBlocks& b) { return !b.overruns().empty(); });
  agree(*comm_, problem, std::span(&overran, 1));
  const BlockTable table(collected, *placed_->rows, placed_->old.get());
  SliceSums sums = table.sums();
  const std::vector<SegmentEnd> ends = find_ends(table.counts, sums);
  problem = unit_ > 0 ? bring_edges_home(ends) : std::nullopt;

  // A table that stays where it is has its pointer and its mapping already; but not if it has checksums,
  // which change.
  std::vector<std::optional<format::Extension>> extensions(placed_->segments.size());
  const auto unread = attempt([&] {
    for (size_t s = 0; s < placed_->segments.size(); ++s) {
      const auto file = open_segment(placed_->segments[s], Access::read);
      MetadataReader reader(*file);
      require_unfinished(*file, reader.header().pointer_offset(),
                         placed_->old ? placed_->old->pointers[s] : format::Pointer{});
      extensions[s] = reader.extension();
    }
  });
  if (!problem) problem = unread;
  const auto has_sums = [&](size_t s) { return extensions[s] && extensions[s]->checksums(); };
  const auto moves = [&](size_t s) {
    return !placed_->old || has_sums(s) || placed_->old->pointers[s].maxblocks != ends[s].pointer.maxblocks;
  };
  // Its first task is in the first slice, that of process 0.
  Lead lead;
  if (placed_->rows->number() == 0 && !placed_->segments.empty())
    lead.value = {ends[0].pointer.varheader,
                  ends[0].pointer.maxblocks,
                  placed_->segments[0].file_tasks,
                  placed_->segments[0].fsblksize,
                  moves(0),
                  has_sums(0) ? int64_t{extensions[0]->piece} : 0,
                  ends[0].sums};
  lead.value[Lead::sums_follow] = sums.in_rounds() > 0;
  agree(*comm_, problem, lead.value);
  if (placed_->old) {
    problem = attempt([&] {
      for (size_t s = 0; s < placed_->segments.size(); ++s)
        if (placed_->segments[s].first == 0 && has_sums(s))
          change_file(placed_->segments[s], [&](File& file, const format::Header& h) {
            // In one write: of two, a loss of power could leave the second.
            MetadataWriter(file, h).write_pointer({-1, 0});
          });
    });
    agree(*comm_, problem);
  }
  SumRounds rounds;
  if (lead.value[Lead::sums_follow]) rounds = plan_rounds(collected, sums, problem);
  const auto unwritten = attempt([&] {
    size_t row = 0;
    for (size_t s = 0; s < placed_->segments.size(); ++s) {
      const auto n = static_cast<size_t>(placed_->segments[s].count);
      int64_t own_sums = 0;
      for (size_t t = 0; t < n; ++t) own_sums += sums.count(row + t);
      const auto size_of = [&](size_t t, int64_t block) { return table.size_of(row + t, block); };
      change_file(placed_->segments[s], [&](File& file, const format::Header& h) {
        MetadataWriter writer(file, h);
        write_block_table(writer, ends[s].pointer, placed_->segments[s].first,
                          std::span(table.counts).subspan(row, n), size_of, unused_rounds());
        if (!has_sums(s)) return sums.take(own_sums, rounds, [](std::span<const std::byte>) {});
        // Of the names only who writes the footer needs to know: they lie behind all else.
        const bool first = placed_->segments[s].first == 0;
        const auto more = first && h.filenumber == 0 ? std::span<const MoreSection>(placed_->names)
                                                     : std::span<const MoreSection>();
        const format::Trailer plan = plan_trailer(h, ends[s].pointer, extensions[s]->identity, ends[s].sums,
                                                  mapping_of(placed_->segments[s].file), more);
        TrailerWriter trailer(file, h, plan, extensions[s]->piece);
        trailer.begin_groups(placed_->segments[s].first, placed_->segments[s].count, ends[s].sums_before);
        sums.take(own_sums, rounds, [&](std::span<const std::byte> some) { trailer.add_sums(some); });
        trailer.end_groups();
        trailer.write_more(more);
        if (first) trailer.write_footer();
      });
      row += n;
    }
    if (lead.value[Lead::writes]) write_mapping(lead);
  });
  rounds.finish();
  agree(*comm_, problem ? problem : unwritten);
  agree(*comm_, attempt([&] {
    for (size_t s = 0; s < placed_->segments.size(); ++s)
      if (placed_->segments[s].first == 0 && (moves(s) || stream_.keeps_journal() || unit_ > 0)) {
        change_file(placed_->segments[s], [&](File& file, const format::Header& h) {
          MetadataWriter(file, h).write_pointer(ends[s].pointer);
        });
        if (alone_) mine_.files[0].file->close();
        if (stream_.keeps_journal())
          remove_journal(*store_, name_of(placed_->segments[s].file),
                         extensions[s] ? extensions[s]->identity : format::Identity{}, hosts_.count);
      }
  }));
  for (const OwnFile& f : mine_.files)
    if (f.edges) f.edges->remove();
  if (overran) look_for_losses();
}

// Collective, when the files are complete: what else there is can be read.
void Writer::look_for_losses() {
  if (alone_) return agree(*comm_, placed_->losses);  // all tasks are its own
  std::vector<WrittenTask> all;
  for (size_t i = 0; i < placed_->own_sums.size(); ++i) all.push_back(written(i, placed_->own_sums[i]));
  const auto problem = check_neighbours(
      *comm_, all, [&](int32_t file) { return open_patiently(*store_, name_of(file), Access::read); });
  agree(*comm_, placed_->losses ? placed_->losses : problem);
}

// Collective. A record per task: row, length, and that many bytes as row_of() makes them.
Gathered Writer::collect_blocks() {
  std::vector<std::vector<std::byte>> records(static_cast<size_t>(placed_->rows->leaders()));
  for (const size_t i : mine_.by_row) {
    if (i >= placed_->own_rows.size()) continue;  // after a failure
    const int64_t head[] = {mine_.tasks[i].row, std::ssize(placed_->own_rows[i])};
    auto& record = records[static_cast<size_t>(placed_->rows->leader_of(mine_.tasks[i].row))];
    const auto bytes = std::as_bytes(std::span(head));
    record.insert(record.end(), bytes.begin(), bytes.end());
    record.insert(record.end(), placed_->own_rows[i].begin(), placed_->own_rows[i].end());
  }
  std::vector<std::span<const std::byte>> pieces(records.begin(), records.end());
  return placed_->rows->collect_pieces(pieces);
}

// Collective. The rounds in which leaders get the checksums that did not come with the rows: one gather to
// each leader that still lacks some. A process whose leader could not tell it where its own belong brings
// none, and the leader fails.
SumRounds Writer::plan_rounds(const Gathered& collected, const SliceSums& sums,
                              std::optional<Error>& problem) {
  struct Brought {
    int64_t begin;
    std::span<const uint32_t> sums;
  };
  const std::vector<int64_t> in_rounds = placed_->rows->share(sums.in_rounds());
  std::vector<std::vector<Brought>> own(in_rounds.size());  // by leader, in the order of rows
  Gathered begins;  // of all that have come, in the order in which they did
  problem = attempt([&] {
    std::vector<int64_t> of_rows(static_cast<size_t>(placed_->rows->count()));
    sums.for_each_begin([&](size_t row, int64_t begin) { of_rows[row] = begin; });
    begins.sizes.assign(collected.sizes.size(), 0);
    BlockTable::for_each_row(collected, *placed_->rows, [&](int process, size_t row, const RowView&) {
      const auto bytes = std::as_bytes(std::span(of_rows).subspan(row, 1));
      begins.bytes.insert(begins.bytes.end(), bytes.begin(), bytes.end());
      begins.sizes[static_cast<size_t>(process)] += 8;
    });
  });
  const std::vector<std::byte> answer = placed_->rows->answer(std::move(begins));
  const auto unplanned = attempt([&] {
    if (answer.size() != 8 * mine_.by_row.size()) return;
    for (size_t k = 0; k < mine_.by_row.size(); ++k) {
      const size_t i = mine_.by_row[k];
      if (!RowView(placed_->own_rows[i]).sums_follow()) continue;
      const auto leader = static_cast<size_t>(placed_->rows->leader_of(mine_.tasks[i].row));
      own[leader].push_back({load<int64_t>(answer.data() + 8 * k, native_order), placed_->own_sums[i]});
    }
  });
  if (!problem) problem = unplanned;
  int64_t rounds = 0;
  for (const int64_t n : in_rounds) rounds = std::max(rounds, rounds_of(n));
  return {rounds, [this, in_rounds, own = std::move(own)](int64_t round) {
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
              Gathered all = placed_->rows->collect_piece(static_cast<int>(l), std::as_bytes(piece));
              if (static_cast<int>(l) == placed_->rows->number()) window = std::move(all);
            }
            return window;
          }};
}

// Collective. What follows for each segment from all segments of its file.
std::vector<Writer::SegmentEnd> Writer::find_ends(std::span<const int64_t> counts,
                                                  const SliceSums& sums_of_rows) {
  struct Borders {
    Border blocks;
    Border sums;
  };
  std::vector<int64_t> most, sums;
  size_t row = 0;
  for (const Segment& s : placed_->segments) {
    const auto n = static_cast<size_t>(s.count);
    most.push_back(n > 0 ? *std::ranges::max_element(counts.first(n)) : 0);
    counts = counts.subspan(n);
    sums.push_back(0);
    for (const size_t end = row + n; row < end; ++row) sums.back() += sums_of_rows.count(row);
  }
  std::vector<Border> blocks_of, sums_of;
  for (const Borders& b : placed_->rows->share(
           Borders{border_of(placed_->segments, most), border_of(placed_->segments, sums)})) {
    blocks_of.push_back(b.blocks);
    sums_of.push_back(b.sums);
  }
  std::vector<SegmentEnd> ends;
  agree(*comm_, attempt([&] {
    const auto larger = [](int64_t a, int64_t b) { return std::max(a, b); };
    const auto add = [](int64_t a, int64_t b) { return must_fit(checked_add(a, b), "the multifile"); };
    for (size_t s = 0; s < placed_->segments.size(); ++s) {
      const Segment& segment = placed_->segments[s];
      const int64_t blocks =
          fold_behind(blocks_of, placed_->rows->number(), segment.file,
                      fold_before(blocks_of, placed_->rows->number(), segment.file, most[s], larger), larger);
      const auto rounds = checked_mul(blocks, segment.skip);
      const int64_t begin = layout::data_start(segment.file_tasks, segment.fsblksize);
      const int64_t before = fold_before(sums_of, placed_->rows->number(), segment.file, 0, add);
      ends.push_back(
          {{static_cast<int32_t>(blocks),
            must_fit(rounds ? checked_add(begin, *rounds) : rounds, "the multifile")},
           before,
           fold_behind(sums_of, placed_->rows->number(), segment.file, add(before, sums[s]), add)});
    }
  }));
  return ends;
}

void Writer::change_file(const Segment& segment,
                         const std::function<void(File&, const format::Header&)>& change) {
  const auto file = open_segment(segment, Access::write);
  change(*file, header_of(segment.file, segment.file_tasks, segment.fsblksize));
  if (facts_.durable) file->sync();
  if (!alone_) file->close();
}

// A process alone goes on with the file it has open, whatever has become of its name.
std::shared_ptr<File> Writer::open_segment(const Segment& segment, Access access) const {
  return alone_ ? mine_.files[0].file : open_patiently(*store_, name_of(segment.file), access);
}

void Writer::write_mapping(const Lead& lead) {
  const bool begins = comm_->rank() == 0;  // leads the first slice
  if (placed_->mapping_entries < 0 || (placed_->mapping.empty() && !begins)) return;
  change_file(lead.file(), [&](File& file, const format::Header& h) {
    MetadataWriter writer(file, h);
    if (begins) writer.write_mapping_size(lead.pointer(), static_cast<int32_t>(placed_->mapping_entries));
    if (placed_->mapping.empty()) return;
    writer.write_mapping(lead.pointer(), placed_->numbers->first(), placed_->mapping);
    if (lead.value[Lead::piece] == 0) return;
    const format::Trailer plan =
        plan_trailer(h, lead.pointer(), {}, lead.value[Lead::sums], placed_->mapping_entries);
    TrailerWriter(file, h, plan, 0)
        .write_mapping(placed_->numbers->first(), placed_->numbers->count(), placed_->mapping_entries);
  });
}

}  // namespace sheaf
