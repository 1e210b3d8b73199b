// Closing a mapped multifile. Order on disk: data, then block tables and mapping, then the pointers that make the
// files complete.
#include <algorithm>
#include <numeric>

#include "base/checked.hpp"
#include "comm/agree.hpp"
#include "multifile/file_checks.hpp"
#include "multifile/mapped_writer.hpp"
#include "storage/patience.hpp"

namespace sheaf {

namespace {

// What a leader got of every task; what is not among it stays as it was.
struct BlockTable {
  BlockTable(const Gathered& collected, const RowSlices& slices, const MappedSlice* before)
      : old(before), counts(static_cast<size_t>(slices.count()), 1), rows(counts.size(), RowView({})) {
    if (old) counts = old->counts;
    for (std::span<const std::byte> bytes = collected.bytes; !bytes.empty();) {
      const auto row = static_cast<size_t>(load<int64_t>(bytes.data(), native_order) - slices.first());
      const auto length = static_cast<size_t>(load<int64_t>(bytes.data() + 8, native_order));
      rows[row] = RowView(bytes.subspan(16, length));
      counts[row] = rows[row].blocks();
      bytes = bytes.subspan(16 + length);
    }
  }
  int64_t size_of(size_t row, int64_t block) const { return rows[row].empty() ? old->block(row, block) : rows[row].size_of(block); }

  const MappedSlice* old;
  std::vector<int64_t> counts;
  std::vector<RowView> rows;
};

// The data checksums of all rows of a slice.
struct SumsTable {
  SumsTable(const BlockTable& table, const MappedSlice* old) {
    size_t old_at = 0;
    for (size_t row = 0; row < table.rows.size(); ++row) {
      const size_t begin = sums.size();
      int64_t kept = 0, begun_block = 0;  // checksums that stay, and those of the blocks before the last
      if (old && old->sums[row].piece > 0) {
        const int64_t last = old->counts[row] - 1;
        const auto of_block = [&](int64_t b) { return format::sums_of_block(old->block(row, b), old->sizes[row], old->sums[row].piece); };
        for (int64_t b = 0; b < last; ++b) begun_block += of_block(b);
        const int64_t all = begun_block + of_block(last);
        kept = table.rows[row].empty() ? all : begun_block + old->block(row, last) / old->sums[row].piece;
        const auto from = old->data_sums.begin() + static_cast<ptrdiff_t>(old_at);
        sums.insert(sums.end(), from, from + kept);
        old_at += static_cast<size_t>(all);
      }
      if (!table.rows[row].empty()) {
        // A row that goes on begins with the last block there was.
        std::vector<uint32_t> own;
        table.rows[row].copy_sums(own);
        sums.insert(sums.end(), own.begin() + std::min<ptrdiff_t>(std::ssize(own), kept - begun_block), own.end());
      }
      of_rows.push_back(static_cast<int64_t>(sums.size() - begin));
    }
  }

  std::vector<uint32_t> sums;
  std::vector<int64_t> of_rows;  // number
};

}  // namespace

// Where file 0 keeps the mapping, as all processes learn it.
struct MappedWriter::Lead {
  enum Value : size_t { varheader, maxblocks, of_file, fsblksize, writes, piece, sums, values };
  std::array<int64_t, values> value{};

  format::Pointer pointer() const { return {static_cast<int32_t>(value[maxblocks]), value[varheader]}; }
  Segment file() const { return {0, static_cast<int32_t>(value[fsblksize]), 0, 0, value[of_file], 0}; }
};

void MappedWriter::close() {
  try {
    finish();
  } catch (...) {
    if (stream_.handle()) stream_.handle()->close();
    throw;
  }
}

// Local: all bytes are in the files, and what every task has written is known.
void MappedWriter::finish_streams() {
  finish_frames();
  if (const auto handle = stream_.release_handle()) handle->close();
  if (!mine_.tasks.empty()) park();
  for (MappedFile& f : mine_.files)
    if (f.handle) f.handle->close();
  for (size_t i = 0; i < mine_.tasks.size(); ++i) {
    const MappedTask& t = mine_.tasks[i];
    File& file = *mine_.files[t.file].file;
    const std::vector<uint32_t> sums = blocks_[i].take_sums(file, t.geometry);
    own_rows_.push_back(row_of(blocks_[i], sums));
    if (losses_) continue;
    losses_ = attempt([&] {
      require_tails(written(i), file.path());
      overruns_.check(file, written(i, sums));
    });
  }
  for (MappedFile& f : mine_.files) {
    if (facts_.durable) f.file->sync();
    f.file->close();
  }
  stream_.require_nothing_lost();
  if (hosts_.count == 1) return;  // else a leader looks at the journals before it removes them
  stream_.release_journal();
  for (MappedFile& f : mine_.files) f.journal.reset();
}

void MappedWriter::finish() {
  auto problem = attempt([&] { finish_streams(); });
  const Gathered collected = collect_blocks();
  int64_t overran = std::ranges::any_of(blocks_, [](const TaskBlocks& b) { return !b.overruns().empty(); });
  agree(*comm_, problem, std::span(&overran, 1));
  const BlockTable table(collected, *rows_, old_.get());
  const SumsTable data(table, old_.get());
  const std::vector<SegmentEnd> ends = find_ends(table.counts, data.of_rows);
  problem = unit_ > 0 ? bring_edges_home(ends) : std::nullopt;

  // A table that stays where it is has its pointer and its mapping already; but not if it has checksums, which change.
  std::vector<std::optional<format::Extension>> extensions(segments_.size());
  const auto unread = attempt([&] {
    for (size_t s = 0; s < segments_.size(); ++s) {
      const auto file = open_patiently(*store_, name_of(segments_[s].file), Access::read);
      MetadataReader reader(*file);
      require_unfinished(*file, reader.header().pointer_offset(), old_ ? old_->pointers[s] : format::Pointer{});
      extensions[s] = reader.extension();
    }
  });
  if (!problem) problem = unread;
  const auto has_sums = [&](size_t s) { return extensions[s] && extensions[s]->checksums(); };
  const auto moves = [&](size_t s) { return !old_ || has_sums(s) || old_->pointers[s].maxblocks != ends[s].pointer.maxblocks; };
  // Its first task is in the first slice, that of process 0.
  Lead lead;
  if (rows_->number() == 0 && rows_->count() > 0)
    lead.value = {ends[0].pointer.varheader, ends[0].pointer.maxblocks, segments_[0].file_tasks, segments_[0].fsblksize,
                  moves(0), has_sums(0) ? int64_t{extensions[0]->piece} : 0, ends[0].sums};
  agree(*comm_, problem, lead.value);
  if (old_) {
    problem = attempt([&] {
      for (size_t s = 0; s < segments_.size(); ++s)
        if (segments_[s].first == 0 && has_sums(s))
          change_file(segments_[s], [&](File& file, const format::Header& h) {
            // In one write: of two, a loss of power could leave the second.
            MetadataWriter(file, h).write_pointer({-1, 0});
          });
    });
    agree(*comm_, problem);
  }
  problem = attempt([&] {
    size_t row = 0;
    std::span<const uint32_t> sums = data.sums;
    for (size_t s = 0; s < segments_.size(); ++s) {
      const auto n = static_cast<size_t>(segments_[s].count);
      int64_t own_sums = 0;
      for (size_t t = 0; t < n; ++t) own_sums += data.of_rows[row + t];
      const auto size_of = [&](size_t t, int64_t block) { return table.size_of(row + t, block); };
      change_file(segments_[s], [&](File& file, const format::Header& h) {
        MetadataWriter writer(file, h);
        write_block_table(writer, ends[s].pointer, segments_[s].first, std::span(table.counts).subspan(row, n), size_of,
                          old_ ? old_->unused : -1);
        if (!has_sums(s)) return;
        const format::Trailer plan =
            plan_trailer(h, ends[s].pointer, extensions[s]->identity, ends[s].sums, mapping_of(segments_[s].file));
        TrailerWriter trailer(file, h, plan, extensions[s]->piece);
        trailer.write_groups(segments_[s].first, segments_[s].count, ends[s].sums_before,
                             sums.first(static_cast<size_t>(own_sums)));
        if (segments_[s].first == 0) trailer.write_footer();
      });
      sums = sums.subspan(static_cast<size_t>(own_sums));
      row += n;
    }
    if (lead.value[Lead::writes]) write_mapping(lead);
  });
  agree(*comm_, problem);
  agree(*comm_, attempt([&] {
          for (size_t s = 0; s < segments_.size(); ++s)
            if (segments_[s].first == 0 && (moves(s) || stream_.keeps_journal() || unit_ > 0)) {
              change_file(segments_[s], [&](File& file, const format::Header& h) {
                MetadataWriter(file, h).write_pointer(ends[s].pointer);
              });
              if (stream_.keeps_journal()) remove_journal(*store_, name_of(segments_[s].file), extensions[s] ? extensions[s]->identity : format::Identity{}, hosts_.count);
            }
        }));
  for (const MappedFile& f : mine_.files)
    if (f.edges) f.edges->remove();
  if (overran) look_for_losses();
}

// Collective, when the files are complete: what else there is can be read.
void MappedWriter::look_for_losses() {
  std::vector<std::vector<uint32_t>> sums(own_rows_.size());
  std::vector<WrittenTask> all;
  for (size_t i = 0; i < own_rows_.size(); ++i) {
    RowView(own_rows_[i]).copy_sums(sums[i]);
    all.push_back(written(i, sums[i]));
  }
  const auto problem = check_neighbours(*comm_, all, [&](int32_t file) { return open_patiently(*store_, name_of(file), Access::read); });
  agree(*comm_, losses_ ? losses_ : problem);
}

// Collective. A record per task: row, length, and that many bytes as row_of() makes them.
Gathered MappedWriter::collect_blocks() {
  std::vector<std::vector<std::byte>> records(static_cast<size_t>(rows_->leaders()));
  for (const size_t i : mine_.by_row) {
    if (i >= own_rows_.size()) continue;  // after a failure
    const int64_t head[] = {mine_.tasks[i].row, std::ssize(own_rows_[i])};
    auto& record = records[static_cast<size_t>(rows_->leader_of(mine_.tasks[i].row))];
    const auto bytes = std::as_bytes(std::span(head));
    record.insert(record.end(), bytes.begin(), bytes.end());
    record.insert(record.end(), own_rows_[i].begin(), own_rows_[i].end());
  }
  std::vector<std::span<const std::byte>> pieces(records.begin(), records.end());
  return rows_->collect_pieces(pieces);
}

// Collective. What follows for each segment from all segments of its file.
std::vector<MappedWriter::SegmentEnd> MappedWriter::find_ends(std::span<const int64_t> counts, std::span<const int64_t> sums_of_rows) {
  struct Borders {
    Border blocks;
    Border sums;
  };
  std::vector<int64_t> most, sums;
  for (const Segment& s : segments_) {
    const auto n = static_cast<size_t>(s.count);
    most.push_back(*std::ranges::max_element(counts.first(n)));
    sums.push_back(std::accumulate(sums_of_rows.begin(), sums_of_rows.begin() + s.count, int64_t{0}));
    counts = counts.subspan(n);
    sums_of_rows = sums_of_rows.subspan(n);
  }
  std::vector<Border> blocks_of, sums_of;
  for (const Borders& b : rows_->share(Borders{border_of(segments_, most), border_of(segments_, sums)})) {
    blocks_of.push_back(b.blocks);
    sums_of.push_back(b.sums);
  }
  std::vector<SegmentEnd> ends;
  agree(*comm_, attempt([&] {
          const auto larger = [](int64_t a, int64_t b) { return std::max(a, b); };
          const auto add = [](int64_t a, int64_t b) { return must_fit(checked_add(a, b), "the multifile"); };
          for (size_t s = 0; s < segments_.size(); ++s) {
            const Segment& segment = segments_[s];
            const int64_t blocks = fold_behind(blocks_of, rows_->number(), segment.file,
                                               fold_before(blocks_of, rows_->number(), segment.file, most[s], larger), larger);
            const auto rounds = checked_mul(blocks, segment.skip);
            const int64_t begin = layout::data_start(segment.file_tasks, segment.fsblksize);
            const int64_t before = fold_before(sums_of, rows_->number(), segment.file, 0, add);
            ends.push_back({{static_cast<int32_t>(blocks), must_fit(rounds ? checked_add(begin, *rounds) : rounds, "the multifile")},
                            before,
                            fold_behind(sums_of, rows_->number(), segment.file, add(before, sums[s]), add)});
          }
        }));
  return ends;
}

void MappedWriter::change_file(const Segment& segment, const std::function<void(File&, const format::Header&)>& change) {
  const auto file = open_patiently(*store_, name_of(segment.file), Access::write);
  change(*file, header_of(segment.file, segment.file_tasks, segment.fsblksize));
  if (facts_.durable) file->sync();
  file->close();
}

void MappedWriter::write_mapping(const Lead& lead) {
  const bool begins = comm_->rank() == 0;  // leads the first slice
  if (mapping_entries_ < 0 || (mapping_.empty() && !begins)) return;
  change_file(lead.file(), [&](File& file, const format::Header& h) {
    MetadataWriter writer(file, h);
    if (begins) writer.write_mapping_size(lead.pointer(), static_cast<int32_t>(mapping_entries_));
    if (mapping_.empty()) return;
    writer.write_mapping(lead.pointer(), numbers_->first(), mapping_);
    if (lead.value[Lead::piece] == 0) return;
    const format::Trailer plan = plan_trailer(h, lead.pointer(), {}, lead.value[Lead::sums], mapping_entries_);
    TrailerWriter(file, h, plan, 0).write_mapping(numbers_->first(), numbers_->count(), mapping_entries_);
  });
}

}  // namespace sheaf
