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

}  // namespace

// Collective: leaders place the chunks of their slice and answer every process.
void Writer::lay_out(const Gathered& collected) {
  std::vector<BlockSizeOfFile> sizes;
  for (const size_t i : mine_.by_row)
    if (mine_.tasks[i].place.local_rank == 0)
      sizes.push_back({mine_.tasks[i].row, placed_->block_sizes[mine_.tasks[i].file]});
  const auto found =
      records_of<BlockSizeOfFile>(placed_->rows->collect(std::span<const BlockSizeOfFile>(sizes)));
  size_t next = 0;  // segments that begin a file, in order of rows
  auto by_row = found;
  std::ranges::sort(by_row, {}, &BlockSizeOfFile::row);
  std::vector<int64_t> values;
  for (Segment& s : placed_->segments) {
    if (s.first == 0)
      s.fsblksize = static_cast<int32_t>(alone_ ? placed_->block_sizes[0] : by_row[next++].fsblksize);
    values.push_back(s.fsblksize);
  }
  const auto borders = placed_->rows->share(border_of(placed_->segments, values));
  for (Segment& s : placed_->segments)
    s.fsblksize = static_cast<int32_t>(fold_before(borders, placed_->rows->number(), s.file, s.fsblksize,
                                                   [](int64_t a, int64_t b) { return std::max(a, b); }));

  const std::vector<std::byte> answers = place_rows(collected);
  agree(*comm_, attempt([&] {
    for (size_t k = 0; k < mine_.by_row.size(); ++k) {
      OwnTask& t = mine_.tasks[mine_.by_row[k]];
      PlacedRow place;
      std::memcpy(&place, answers.data() + k * sizeof place, sizeof place);
      t.geometry = place.geometry;
      mine_.files[t.file].fsblksize = static_cast<int32_t>(place.fsblksize);
    }
    for (OwnFile& file : mine_.files) {
      if (alone_) file.fsblksize = placed_->block_sizes[0];
      know_journal(file, header_of(file.number, file.file_tasks, file.fsblksize), placed_->extension);
    }
  }));
}

// Collective. Geometry of each row collected, for the process it came from.
std::vector<std::byte> Writer::place_rows(const Gathered& collected) {
  auto rows = records_of<RequestedRow>(collected);
  std::vector<int64_t> sizes(static_cast<size_t>(placed_->rows->count()));
  std::vector<int64_t> sums(placed_->segments.size());
  auto problem = attempt([&] {
    for (const RequestedRow& r : rows)
      sizes[static_cast<size_t>(r.row - placed_->rows->first())] = r.chunk_size;
    size_t at = 0;
    for (size_t s = 0; s < placed_->segments.size(); ++s)
      for (int64_t k = 0; k < placed_->segments[s].count; ++k, ++at) {
        sizes[at] = aligned(sizes[at], placed_->segments[s].fsblksize);
        sums[s] = must_fit(checked_add(sums[s], sizes[at]), "the sum of the chunk sizes");
      }
  });
  agree(*comm_, problem);
  const auto borders = placed_->rows->share(border_of(placed_->segments, sums));
  Gathered answers;
  problem = attempt([&] {
    const auto add = [](int64_t a, int64_t b) {
      return must_fit(checked_add(a, b), "the sum of the chunk sizes");
    };
    std::vector<PlacedRow> places;
    for (size_t s = 0; s < placed_->segments.size(); ++s) {
      Segment& segment = placed_->segments[s];
      const int64_t before = fold_before(borders, placed_->rows->number(), segment.file, 0, add);
      segment.skip = fold_behind(borders, placed_->rows->number(), segment.file, add(before, sums[s]), add);
      int64_t start = add(layout::data_start(segment.file_tasks, segment.fsblksize), before);
      for (int64_t k = 0; k < segment.count; ++k) {
        const int64_t size = sizes[places.size()];
        places.push_back({{start, segment.skip, size}, segment.fsblksize});
        start = add(start, size);
      }
      add(layout::data_start(segment.file_tasks, segment.fsblksize), segment.skip);
    }
    for (const RequestedRow& r : rows) {
      const auto* place =
          reinterpret_cast<const std::byte*>(&places[static_cast<size_t>(r.row - placed_->rows->first())]);
      answers.bytes.insert(answers.bytes.end(), place, place + sizeof(PlacedRow));
    }
    for (const int64_t bytes : collected.sizes)
      answers.sizes.push_back(bytes / static_cast<int64_t>(sizeof(RequestedRow)) *
                              static_cast<int64_t>(sizeof(PlacedRow)));
  });
  std::vector<std::byte> mine = placed_->rows->answer(std::move(answers));
  agree(*comm_, problem);
  return mine;
}

int64_t Writer::aligned(int64_t chunk_size, int32_t fsblksize) const {
  return keeps_sizes_ ? chunk_size : layout::aligned_chunk(chunk_size, fsblksize);
}

format::Header Writer::header_of(int32_t file, int64_t file_tasks, int32_t fsblksize) const {
  format::Header h;
  h.userdata_order = facts_.userdata_order;
  h.fsblksize = fsblksize;
  h.ntasks = static_cast<int32_t>(file_tasks);
  h.nfiles = facts_.nfiles;
  h.filenumber = alone_ ? 1 : file;  // what serial writers of the format have always stored
  if (facts_.keyval) h.flag1 = format::Header::flag_of(format::KeyvalMode::inline_);
  return h;
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
void Writer::write_metadata(const Gathered& collected, const std::string& stored_name) {
  std::vector<int64_t> ranks(static_cast<size_t>(placed_->rows->count()));
  std::vector<int64_t> sizes(ranks.size());
  for (const RequestedRow& r : records_of<RequestedRow>(collected)) {
    ranks[static_cast<size_t>(r.row - placed_->rows->first())] = r.globalrank;
    sizes[static_cast<size_t>(r.row - placed_->rows->first())] = r.chunk_size;
  }
  size_t at = 0;
  for (const Segment& s : placed_->segments) {
    const auto n = static_cast<size_t>(s.count);
    const auto chunks = std::span(sizes).subspan(at, n);
    for (int64_t& size : chunks) size = aligned(size, s.fsblksize);
    change_file(s, [&](File& file, format::Header h) {
      if (s.first == 0) h.set_name(stored_name);
      MetadataWriter writer(file, h);
      if (s.first == 0) writer.write_header(placed_->extension);
      if (s.first == 0 && unit_ > 0 && stream_.keeps_journal()) {
        JournalKey key = JournalKey::of(h, placed_->extension);
        key.hosts = hosts_;
        mark_unclosed(file, key);
      }
      writer.write_ranks_and_sizes(s.first, std::span(ranks).subspan(at, n), chunks);
    });
    at += n;
  }
}

}  // namespace sheaf
