// The second half of a mapped open for writing: chunks get their places, META1 is written.
#include <algorithm>

#include "base/checked.hpp"
#include "comm/agree.hpp"
#include "creation/new_file.hpp"
#include "set/mapped_writer.hpp"

namespace sheaf {

namespace {

struct BlockSizeOfFile {
  int64_t row;  // of local rank 0
  int64_t fsblksize;
};

}  // namespace

// Collective: leaders place the chunks of their slice and answer every process.
void MappedWriter::lay_out(const Gathered& collected) {
  std::vector<BlockSizeOfFile> sizes;
  for (const size_t i : mine_.by_row)
    if (mine_.tasks[i].place.local_rank == 0)
      sizes.push_back({mine_.tasks[i].row, block_sizes_[mine_.tasks[i].file]});
  const auto found = records_of<BlockSizeOfFile>(rows_->collect(std::span<const BlockSizeOfFile>(sizes)));
  size_t next = 0;  // segments that begin a file, in order of rows
  auto by_row = found;
  std::ranges::sort(by_row, {}, &BlockSizeOfFile::row);
  std::vector<int64_t> values;
  for (Segment& s : segments_) {
    if (s.first == 0) s.fsblksize = static_cast<int32_t>(by_row[next++].fsblksize);
    values.push_back(s.fsblksize);
  }
  const auto borders = rows_->share(border_of(segments_, values));
  for (Segment& s : segments_)
    s.fsblksize = static_cast<int32_t>(fold_before(borders, rows_->number(), s.file, s.fsblksize,
                                                   [](int64_t a, int64_t b) { return std::max(a, b); }));

  const std::vector<std::byte> answers = place_rows(collected);
  agree(*comm_, attempt([&] {
    for (size_t k = 0; k < mine_.by_row.size(); ++k) {
      MappedTask& t = mine_.tasks[mine_.by_row[k]];
      MappedPlace place;
      std::memcpy(&place, answers.data() + k * sizeof place, sizeof place);
      t.geometry = place.geometry;
      MappedFile& file = mine_.files[t.file];
      file.fsblksize = static_cast<int32_t>(place.fsblksize);
      know_journal(file, header_of(file.number, file.file_tasks, file.fsblksize), extension_);
    }
  }));
}

// Collective. Geometry of each row collected, for the process it came from.
std::vector<std::byte> MappedWriter::place_rows(const Gathered& collected) {
  auto rows = records_of<MappedRow>(collected);
  std::vector<int64_t> sizes(static_cast<size_t>(rows_->count()));
  std::vector<int64_t> sums(segments_.size());
  auto problem = attempt([&] {
    for (const MappedRow& r : rows) sizes[static_cast<size_t>(r.row - rows_->first())] = r.chunk_size;
    size_t at = 0;
    for (size_t s = 0; s < segments_.size(); ++s)
      for (int64_t k = 0; k < segments_[s].count; ++k, ++at) {
        sizes[at] = layout::aligned_chunk(sizes[at], segments_[s].fsblksize);
        sums[s] = must_fit(checked_add(sums[s], sizes[at]), "the sum of the chunk sizes");
      }
  });
  agree(*comm_, problem);
  const auto borders = rows_->share(border_of(segments_, sums));
  Gathered answers;
  problem = attempt([&] {
    const auto add = [](int64_t a, int64_t b) {
      return must_fit(checked_add(a, b), "the sum of the chunk sizes");
    };
    std::vector<MappedPlace> places;
    for (size_t s = 0; s < segments_.size(); ++s) {
      Segment& segment = segments_[s];
      const int64_t before = fold_before(borders, rows_->number(), segment.file, 0, add);
      segment.skip = fold_behind(borders, rows_->number(), segment.file, add(before, sums[s]), add);
      int64_t start = add(layout::data_start(segment.file_tasks, segment.fsblksize), before);
      for (int64_t k = 0; k < segment.count; ++k) {
        const int64_t size = sizes[places.size()];
        places.push_back({{start, segment.skip, size}, segment.fsblksize});
        start = add(start, size);
      }
      add(layout::data_start(segment.file_tasks, segment.fsblksize), segment.skip);
    }
    for (const MappedRow& r : rows) {
      const auto* place =
          reinterpret_cast<const std::byte*>(&places[static_cast<size_t>(r.row - rows_->first())]);
      answers.bytes.insert(answers.bytes.end(), place, place + sizeof(MappedPlace));
    }
    for (const int64_t bytes : collected.sizes)
      answers.sizes.push_back(bytes / static_cast<int64_t>(sizeof(MappedRow)) *
                              static_cast<int64_t>(sizeof(MappedPlace)));
  });
  std::vector<std::byte> mine = rows_->answer(std::move(answers));
  agree(*comm_, problem);
  return mine;
}

format::Header MappedWriter::header_of(int32_t file, int64_t file_tasks, int32_t fsblksize) const {
  format::Header h;
  h.userdata_order = facts_.userdata_order;
  h.fsblksize = fsblksize;
  h.ntasks = static_cast<int32_t>(file_tasks);
  h.nfiles = facts_.nfiles;
  h.filenumber = file;
  if (facts_.keyval) h.flag1 = format::Header::flag_of(format::KeyvalMode::inline_);
  return h;
}

void MappedWriter::know_journal(MappedFile& file, const format::Header& header,
                                const std::optional<format::Extension>& extension) {
  file.key = JournalKey::of(header, extension);
  file.key.hosts = hosts_;
  file.key.own_caches = own_caches_;
  // Where a page of META1 has one host, that of its leader, the leader marks it when it writes it.
  file.key.first = unit_ == 0 && std::ranges::any_of(mine_.tasks, [&](const MappedTask& t) {
                     return t.place.local_rank == 0 && mine_.files[t.file].number == file.number;
                   });
}

// Local, by who has made the files.
void MappedWriter::empty_files() {
  for (size_t f = 0; f < mine_.files.size(); ++f) {
    if (block_sizes_[f] == 0) continue;
    const MappedFile& own = mine_.files[f];
    empty(*own.file);
    if (hosts_.count > 1 || std::ranges::find(created_, own.file->path()) == created_.end())
      remove_leftovers(*store_, own.file->path());
  }
}

// Local, by leaders, who write all of META1: a page of it has one writer.
void MappedWriter::write_metadata(const Gathered& collected, const std::string& stored_name) {
  std::vector<int64_t> ranks(static_cast<size_t>(rows_->count()));
  std::vector<int64_t> sizes(ranks.size());
  for (const MappedRow& r : records_of<MappedRow>(collected)) {
    ranks[static_cast<size_t>(r.row - rows_->first())] = r.globalrank;
    sizes[static_cast<size_t>(r.row - rows_->first())] = r.chunk_size;
  }
  size_t at = 0;
  for (const Segment& s : segments_) {
    const auto n = static_cast<size_t>(s.count);
    const auto chunks = std::span(sizes).subspan(at, n);
    for (int64_t& size : chunks) size = layout::aligned_chunk(size, s.fsblksize);
    change_file(s, [&](File& file, format::Header h) {
      if (s.first == 0) h.set_name(stored_name);
      MetadataWriter writer(file, h);
      if (s.first == 0) writer.write_header(extension_);
      if (s.first == 0 && unit_ > 0 && stream_.keeps_journal()) {
        JournalKey key = JournalKey::of(h, extension_);
        key.hosts = hosts_;
        mark_unclosed(file, key);
      }
      writer.write_ranks_and_sizes(s.first, std::span(ranks).subspan(at, n), chunks);
    });
    at += n;
  }
}

}  // namespace sheaf
