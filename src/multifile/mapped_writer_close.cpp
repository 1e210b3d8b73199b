// Closing a mapped multifile. Order on disk: data, then block tables and mapping, then the pointers that make the
// files complete.
#include <algorithm>

#include "base/checked.hpp"
#include "comm/agree.hpp"
#include "multifile/mapped_writer.hpp"

namespace sheaf {

namespace {

// Row and sizes of the blocks of every task that a leader got; what is not among them stays as it was.
struct BlockTable {
  BlockTable(const Gathered& collected, const RowSlices& slices, const MappedSlice* before)
      : bytes(collected.bytes), old(before), counts(static_cast<size_t>(slices.count()), 1), places(counts.size(), -1) {
    if (old) counts = old->counts;
    for (int64_t at = 0; at < std::ssize(bytes);) {
      const auto row = static_cast<size_t>(word(at) - slices.first());
      counts[row] = word(at + 8);
      places[row] = at + 16;
      at += 16 + 8 * counts[row];
    }
  }
  int64_t word(int64_t at) const { return load<int64_t>(bytes.data() + at, native_order); }
  int64_t size_of(size_t row, int64_t block) const {
    return places[row] < 0 ? old->block(row, block) : word(places[row] + 8 * block);
  }

  const std::vector<std::byte>& bytes;
  const MappedSlice* old;
  std::vector<int64_t> counts;
  std::vector<int64_t> places;  // where the sizes of a row begin
};

}  // namespace

void MappedWriter::close() {
  try {
    finish();
  } catch (...) {
    if (stream_.handle()) stream_.handle()->close();
    throw;
  }
}

void MappedWriter::finish() {
  auto problem = attempt([&] {
    if (const auto handle = stream_.release_handle()) handle->close();
    if (!mine_.tasks.empty()) blocks_[current_] = stream_.park();
    for (MappedFile& f : mine_.files) {
      if (f.handle) f.handle->close();
      if (facts_.durable) f.file->sync();
      f.file->close();
    }
    stream_.require_nothing_lost();
  });
  const Gathered collected = collect_blocks();
  agree(*comm_, problem);
  const BlockTable table(collected, *rows_, old_.get());
  const std::vector<format::Pointer> pointers = find_pointers(table.counts);

  // A table that stays where it is has its pointer and its mapping already.
  const auto moves = [&](size_t s) { return !old_ || old_->pointers[s].maxblocks != pointers[s].maxblocks; };
  // Everybody learns where file 0 keeps the mapping; its first task is in the first slice, that of process 0.
  int64_t lead[5] = {};
  if (rows_->number() == 0 && rows_->count() > 0)
    std::ranges::copy(std::array{pointers[0].varheader, int64_t{pointers[0].maxblocks}, segments_[0].file_tasks,
                                 int64_t{segments_[0].fsblksize}, int64_t{moves(0)}}, lead);
  agree(*comm_, std::nullopt, lead);
  problem = attempt([&] {
    size_t row = 0;
    for (size_t s = 0; s < segments_.size(); ++s) {
      const auto n = static_cast<size_t>(segments_[s].count);
      const auto size_of = [&](size_t t, int64_t block) { return table.size_of(row + t, block); };
      change_file(segments_[s], [&](MetadataWriter& writer) {
        write_block_table(writer, pointers[s], segments_[s].first, std::span(table.counts).subspan(row, n), size_of,
                          old_ ? old_->unused : -1);
      });
      row += n;
    }
    if (lead[4] != 0)
      write_mapping({static_cast<int32_t>(lead[1]), lead[0]},
                    {0, static_cast<int32_t>(lead[3]), 0, 0, lead[2], 0});
  });
  agree(*comm_, problem);
  agree(*comm_, attempt([&] {
          for (size_t s = 0; s < segments_.size(); ++s)
            if (segments_[s].first == 0 && (moves(s) || stream_.keeps_journal())) {
              change_file(segments_[s], [&](MetadataWriter& writer) { writer.write_pointer(pointers[s]); });
              if (stream_.keeps_journal()) remove_journal(*store_, name_of(segments_[s].file));
            }
        }));
}

// Collective. A record per task: row, number of blocks, their sizes.
Gathered MappedWriter::collect_blocks() {
  std::vector<std::vector<int64_t>> records(static_cast<size_t>(rows_->leaders()));
  for (const size_t i : mine_.by_row) {
    auto& record = records[static_cast<size_t>(rows_->leader_of(mine_.tasks[i].row))];
    const TaskBlocks& blocks = blocks_[i];
    record.push_back(mine_.tasks[i].row);
    record.push_back(blocks.count());
    for (int64_t b = 0; b < blocks.count(); ++b) record.push_back(blocks.size_of(b));
  }
  std::vector<std::span<const std::byte>> pieces;
  for (const auto& record : records) pieces.push_back(std::as_bytes(std::span(record)));
  return rows_->collect_pieces(pieces);
}

// Collective. The pointer of each segment's file.
std::vector<format::Pointer> MappedWriter::find_pointers(std::span<const int64_t> counts) {
  std::vector<int64_t> most;
  for (const Segment& s : segments_) {
    const auto own = counts.first(static_cast<size_t>(s.count));
    most.push_back(*std::ranges::max_element(own));
    counts = counts.subspan(own.size());
  }
  const auto borders = rows_->share(border_of(segments_, most));
  std::vector<format::Pointer> pointers;
  agree(*comm_, attempt([&] {
          const auto larger = [](int64_t a, int64_t b) { return std::max(a, b); };
          for (size_t s = 0; s < segments_.size(); ++s) {
            const Segment& segment = segments_[s];
            const int64_t blocks = fold_behind(borders, rows_->number(), segment.file,
                                               fold_before(borders, rows_->number(), segment.file, most[s], larger), larger);
            const auto rounds = checked_mul(blocks, segment.skip);
            const int64_t begin = layout::data_start(segment.file_tasks, segment.fsblksize);
            pointers.push_back({static_cast<int32_t>(blocks), must_fit(rounds ? checked_add(begin, *rounds) : rounds, "the multifile")});
          }
        }));
  return pointers;
}

void MappedWriter::change_file(const Segment& segment, const std::function<void(MetadataWriter&)>& change) {
  const format::Header h = header_of(segment.file, segment.file_tasks, segment.fsblksize);
  const auto file = store_->open(name_of(segment.file), Access::write);
  MetadataWriter writer(*file, h);
  change(writer);
  if (facts_.durable) file->sync();
  file->close();
}

void MappedWriter::write_mapping(const format::Pointer& lead, const Segment& file) {
  const bool begins = comm_->rank() == 0;  // leads the first slice
  if (mapping_entries_ < 0 || (mapping_.empty() && !begins)) return;
  change_file(file, [&](MetadataWriter& writer) {
    if (begins) writer.write_mapping_size(lead, static_cast<int32_t>(mapping_entries_));
    if (!mapping_.empty()) writer.write_mapping(lead, numbers_->first(), mapping_);
  });
}

}  // namespace sheaf
