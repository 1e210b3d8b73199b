// The second half of a mapped open for writing: chunks get their places, META1 is written.
#include <algorithm>

#include "base/checked.hpp"
#include "comm/agree.hpp"
#include "creation/new_file.hpp"
#include "set/writer.hpp"

namespace sheaf {

namespace {

struct BlockSizeOfFile {
  int64_t row;  // of local rank 0
  int64_t fsblksize;
};

// Appends the places of the rows of a segment, which have these `sizes`.
void place_segment(Segment& segment, const FileSums& sums, std::span<const int64_t> sizes,
                   std::vector<PlacedRow>& places) {
  segment.skip = sums.sum;
  const int64_t begin = layout::data_start(segment.file_tasks, segment.fsblksize);
  must_fit(checked_add(begin, sums.sum), "the sum of the chunk sizes");
  int64_t start = begin + sums.before;
  for (const int64_t size : sizes) {
    places.push_back({{start, segment.skip, size}, segment.fsblksize});
    start += size;
  }
}

}  // namespace

// Collective: leaders place the chunks of their slice and answer every process.
void Writer::lay_out(const Gathered& collected) {
  RowSlices& slices = *placed_->rows;
  std::vector<Segment>& segments = placed_->segments;
  std::vector<BlockSizeOfFile> sizes_of_blocks;
  for (const size_t i : mine_.by_row)
    if (mine_.tasks[i].place.local_rank == 0)
      sizes_of_blocks.push_back({mine_.tasks[i].row, placed_->block_sizes[mine_.tasks[i].file]});
  auto found = records_of<BlockSizeOfFile>(slices.collect(std::span<const BlockSizeOfFile>(sizes_of_blocks)));
  std::ranges::sort(found, {}, &BlockSizeOfFile::row);
  size_t next = 0;  // segments that begin a file, in order of rows
  std::vector<SegmentSums> values;
  for (const Segment& s : segments)
    values.push_back({0, s.first != 0 ? 0 : alone_ ? placed_->block_sizes[0] : found[next++].fsblksize});
  const std::vector<FileSums> block_sizes = slices.add_up(segments, values);
  for (size_t s = 0; s < segments.size(); ++s)
    segments[s].fsblksize = static_cast<int32_t>(block_sizes[s].largest);

  const auto rows = records_of<RequestedRow>(collected);
  std::vector<int64_t> sizes(static_cast<size_t>(slices.count()));
  for (const RequestedRow& r : rows) sizes[static_cast<size_t>(r.row - slices.first())] = r.chunk_size;
  auto problem = attempt([&] {
    for (size_t s = 0; s < segments.size(); ++s) {
      values[s] = {};
      for (int64_t& size : segments[s].of(std::span(sizes))) {
        size = aligned(size, segments[s].fsblksize);
        values[s].sum = must_fit(checked_add(values[s].sum, size), "the sum of the chunk sizes");
      }
    }
  });
  const std::vector<FileSums> sums = slices.add_up(segments, values);
  const auto places = slices.answer<PlacedRow, RequestedRow>(
      collected, mine_.tasks.size(), problem, [&](const std::vector<RequestedRow>& requests) {
        std::vector<PlacedRow> of_rows;
        for (size_t s = 0; s < segments.size(); ++s)
          place_segment(segments[s], sums[s], segments[s].of(sizes), of_rows);
        std::vector<PlacedRow> answers;
        for (const RequestedRow& r : requests)
          answers.push_back(of_rows[static_cast<size_t>(r.row - slices.first())]);
        return answers;
      });
  const auto unknown = attempt([&] {
    for (size_t k = 0; k < mine_.by_row.size(); ++k) {
      OwnTask& t = mine_.tasks[mine_.by_row[k]];
      t.geometry = places[k].geometry;
      mine_.files[t.file].fsblksize = static_cast<int32_t>(places[k].fsblksize);
    }
    for (OwnFile& file : mine_.files) {
      if (alone_) file.fsblksize = placed_->block_sizes[0];
      know_journal(file, header_of(file.number, file.file_tasks, file.fsblksize), placed_->extension);
    }
  });
  agree(*comm_, problem ? problem : unknown);
}

int64_t Writer::aligned(int64_t chunk_size, int32_t fsblksize) const {
  return keeps_sizes_ ? chunk_size : layout::aligned_chunk(chunk_size, fsblksize);
}

format::Header Writer::header_of(int32_t file, int64_t file_tasks, int32_t fsblksize) const {
  using format::KeyvalMode;
  return {{.userdata_order = facts_.userdata_order,
           .fsblksize = fsblksize,
           .ntasks = static_cast<int32_t>(file_tasks),
           .nfiles = facts_.nfiles,
           .filenumber = alone_ ? 1 : file,  // what serial writers of the format have always stored
           .flag1 = format::Header::flag_of(facts_.keyval ? KeyvalMode::inline_ : KeyvalMode::none)}};
}

void Writer::know_journal(OwnFile& file, const format::Header& header,
                          const std::optional<format::Extension>& extension) {
  file.key = JournalKey::of(header, extension);
  file.key.hosts = hosts_;
  file.key.own_caches = own_caches_;
  // Where a page of META1 has one host, that of its leader, the leader marks it when it writes it.
  file.key.first = unit_ == 0 && std::ranges::any_of(mine_.tasks, [&](const OwnTask& t) {
                     return t.place.local_rank == 0 && mine_.files[t.file].number == file.number;
                   });
}

// Local, by who has made the files.
void Writer::empty_files() {
  for (size_t f = 0; f < mine_.files.size(); ++f) {
    if (placed_->block_sizes[f] == 0) continue;
    const OwnFile& own = mine_.files[f];
    empty(*own.file);
    if (hosts_.count > 1 || std::ranges::find(created_, own.file->path()) == created_.end())
      remove_leftovers(*store_, own.file->path());
  }
}

// Local, by leaders, who write all of META1: a page of it has one writer.
void Writer::write_metadata(const RowSlices& slices, std::span<const Segment> segments,
                            const Gathered& collected, std::string_view stored_name,
                            const std::optional<format::Extension>& extension) {
  std::vector<int64_t> ranks(static_cast<size_t>(slices.count()));
  std::vector<int64_t> sizes(ranks.size());
  for (const RequestedRow& r : records_of<RequestedRow>(collected)) {
    ranks[static_cast<size_t>(r.row - slices.first())] = r.globalrank;
    sizes[static_cast<size_t>(r.row - slices.first())] = r.chunk_size;
  }
  for (const Segment& s : segments) {
    const auto chunks = s.of(std::span(sizes));
    for (int64_t& size : chunks) size = aligned(size, s.fsblksize);
    const auto write = [&](File& file, format::Header h) {
      if (s.first == 0) h.set_name(stored_name);
      MetadataWriter writer(file, h);
      if (s.first == 0) writer.write_header(extension);
      if (s.first == 0 && !grouped_ && unit_ > 0 && stream_.keeps_journal()) {
        JournalKey key = JournalKey::of(h, extension);
        key.hosts = hosts_;
        mark_unclosed(file, key);
      }
      writer.write_ranks_and_sizes(s.first, s.of(ranks), chunks);
    };
    // What one file of a set has flushed needs the others to be found.
    change_file(s, write, stream_.keeps_journal() && own_caches_ ? Outlives::host : Outlives::process);
  }
}

}  // namespace sheaf
