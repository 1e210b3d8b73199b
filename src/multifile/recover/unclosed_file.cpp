#include "multifile/recover/unclosed_file.hpp"

#include <algorithm>
#include <numeric>

#include "base/bytes.hpp"
#include "comm/agree.hpp"
#include "layout/slices.hpp"
#include "multifile/create/copy_stream.hpp"
#include "multifile/metadata/boundary_blocks_reader.hpp"
#include "multifile/recover/constants.hpp"
#include "multifile/stream/file_checks.hpp"
#include "multifile/stream/plain_file.hpp"
#include "storage/store.hpp"

namespace sheaf::multifile {

using format::Pointer;
using format::TableSource;
using namespace recovery_constants;

namespace {

// Returns true if the file has a nonzero byte at or after `at`. Reads allocated blocks, because they may
// contain only zeros.
bool holds_data(File& file, int64_t at) {
  const int64_t size = file.status().size;
  std::vector<std::byte> bytes(64 << 10);
  while (at < size) {
    at = file.next(Space::data, at);
    const size_t n = at < size ? file.read_at(bytes, at) : 0;
    if (n == 0) return false;
    if (!is_zero(std::span(bytes).first(n))) return true;
    at += static_cast<int64_t>(n);
  }
  return false;
}

// Calls visit(slice) for consecutive slices of tasks. The arrays of a slice have their final lengths, all 0.
template <class Visit>
void for_each_slice_of(int64_t ntasks, int32_t maxblocks, Visit visit) {
  const int64_t at_once = std::max<int64_t>(1, repaired_at_once / std::max(1, maxblocks));
  BlockSlice slice;
  slice.rounds = maxblocks;
  for (; slice.first < ntasks; slice.first += at_once) {
    const auto n = static_cast<size_t>(std::min(at_once, ntasks - slice.first));
    slice.counts.assign(n, 0);
    slice.sizes.assign(n * static_cast<size_t>(maxblocks), 0);
    visit(slice);
  }
}

// Fills the slice from a block table.
void fill(BlockSlice& slice, MetadataReader& reader, const Pointer& p) {
  reader.read_block_counts(p, slice.first, slice.counts);
  for (int64_t k = 0; k < slice.rounds; ++k) {
    reader.read_block_sizes(p, k, slice.first, slice.round(k));
    for (size_t t = 0; t < slice.counts.size(); ++t)
      if (k >= slice.counts[t]) slice.bytes(t, k) = 0;
  }
}

void add_to(format::Hash& hash, const BlockSlice& slice) {
  hash.add(std::as_bytes(std::span(slice.counts)));
  hash.add(std::as_bytes(std::span(slice.sizes)));
}

int64_t bytes_of(const BlockSlice& slice) {
  return std::accumulate(slice.sizes.begin(), slice.sizes.end(), int64_t{0});
}

}  // namespace

UnclosedFile::UnclosedFile(Store& store, const std::string& path, const RepairRequest& request)
    : store_(store),
      file_(store.open(path, Access::read)),
      reader_(store, *file_),
      identity_(request.identity) {
  file_->revalidate();  // this host may have cached an old size, if the writer died without a close
  if (request.accept_loss) reader_.unclosed().accept_lost_records();
  report_.path = path;
  report_.ntasks = header().ntasks;
  find_source(path, request);
  if (!is_complete()) whole_ = with_boundary_blocks(store, file_, &boundary_blocks_);
  report_.blocks = pointer_.maxblocks;
  has_trailer_ = report_.source == RepairSource::table &&
                 matches_trailer(reader_.file(), header(), pointer_, reader_.extension());
  if (!has_trailer_ && !is_complete() && reader_.extension() && reader_.extension()->checksums())
    report_.unknown.emplace_back(
        "whether the data are what was written: their checksums are made from what is there now");
  bool overruns = false;
  for_each_found([&](BlockSlice& slice) {
    report_.data_bytes += bytes_of(slice);
    overruns |= is_complete() && overrun_chunks(slice);
  });
  const JournalDamage damage = reader_.unclosed().journal_damage();
  if (damage.lost > 0)
    report_.unknown.push_back("where the streams of " + std::to_string(damage.lost) +
                              " task(s) end, the first one being local task " +
                              std::to_string(damage.first_lost) +
                              ": records of the journal are damaged, and those before them count");
  if (report_.source == RepairSource::holes) report_.guessed_ends = table_->guessed_ends;
  report_.guessed =
      (report_.source == RepairSource::holes && report_.data_bytes > 0) || damage.lost > 0 || missing_ > 0;
  if (overruns) leave_out_overruns();
  if (missing_ == 0) return;
  if (!request.accept_loss)
    reader_.damaged(
        "the file is shorter than its journal says: " + std::to_string(missing_) +
        " bytes that its tasks had recorded are not in it (was it cut off, or copied in part?); a "
        "repair that is forced keeps what is there");
  report_.unknown.emplace_back(std::to_string(missing_) +
                               " bytes that tasks had recorded: the file is shorter than its journal says, "
                               "and they are left out");
}

void UnclosedFile::find_source(const std::string& path, const RepairRequest& request) {
  const auto unclosed = attempt([&] { pointer_ = reader_.read_pointer(); });
  if (unclosed && unclosed->code() != Code::unclosed) throw *unclosed;
  if (!unclosed && pointer_.complete()) {
    end_ = reader_.file_size();
  } else if (unclosed || request.holes || reader_.unclosed().has_journal_gap() ||
             (pointer_.source == TableSource::none &&
              holds_data(*file_, layout::data_start(report_.ntasks, header().fsblksize)))) {
    const bool unreported = !unclosed && !request.holes && pointer_.source == TableSource::none;
    use_holes(unreported, request.holes, unclosed ? std::nullopt : std::optional(pointer_));
    if (reader_.unclosed().journal_lost())
      report_.unknown.emplace_back("what its tasks had reported: the journal '" + format::journal_name(path) +
                                   "' is lost");
    if (unreported && report_.source == RepairSource::holes)
      report_.unknown.emplace_back(
          "whether any of it is whole, or ended in zeros: no task had flushed or completed a chunk");
  } else {
    report_.source = pointer_.source == TableSource::journal    ? RepairSource::journal
                     : pointer_.source == TableSource::unmarked ? RepairSource::table
                                                                : RepairSource::none;
    // The block table gets room for one more round. A task that has completed its last recorded chunk writes
    // to the next chunk, and may record nothing until that chunk is complete.
    if (request.may_live && report_.source == RepairSource::journal) {
      ++pointer_.maxblocks;
      pointer_.varheader = must_fit(checked_add(pointer_.varheader, chunks().layout.skip), "the multifile");
    }
    end_ = report_.source == RepairSource::table ? reader_.file_size() : pointer_.varheader;
  }
}

// Determines the blocks from the holes. `told` is the result of read_pointer(), if it succeeded. `by_holes`
// ignores the journal unless the file contains a block table. If `unreported`, no task has recorded any data,
// and each stream ends at its first gap (leave_out_zeros).
void UnclosedFile::use_holes(bool unreported, bool by_holes, const std::optional<Pointer>& told) {
  const bool recorded = told && told->source == TableSource::journal;
  table_ = read_holes(reader_, chunks());
  report_.source = RepairSource::holes;
  pointer_.source = TableSource::none;
  if (const auto found = find_table(reader_, chunks(), table_->blocks()); found) {
    // If the program was appending, the table in the file is from before the append.
    const HoleTable before = recorded ? read_table(reader_, *found) : HoleTable{};
    table_ = before;
    if (recorded) add_records(reader_, *told, *table_);
    if (table_->counts == before.counts && table_->rounds == before.rounds) {
      report_.source = RepairSource::table;
      pointer_ = *found;
      pointer_.source = TableSource::unmarked;
      table_.reset();
      end_ = reader_.file_size();
      return;
    }
    report_.source = RepairSource::journal;
    report_.unknown.emplace_back(
        "what tasks have appended and not recorded: the block table from before the append is in the way of "
        "the holes");
  } else {
    report_.unknown = table_->unknown;
    if (unreported) leave_out_zeros(reader_, chunks(), *table_);
    if (recorded && !by_holes) {
      add_records(reader_, *told, *table_);
      report_.unknown.emplace_back(
          "what tasks have written that went on without the journal: that is told by the holes");
    }
  }
  pointer_.maxblocks = report_.ntasks == 0 ? 0 : static_cast<int32_t>(table_->blocks());
  end_ = pointer_.varheader = must_fit(
      layout::end_of_rounds(report_.ntasks, header().fsblksize, pointer_.maxblocks, chunks().layout.skip),
      "the multifile");
}

// Returns the chunks, which are read at the first call: a caller that only checks a journal does not need
// them.
const Chunks& UnclosedFile::chunks() {
  if (!chunks_) chunks_ = read_chunks(reader_);
  return *chunks_;
}

// Calls visit(slice) with the blocks that were found for all tasks. If a job is writing the file, a later
// call may find more data, but never less.
void UnclosedFile::for_each_found(const VisitSlice& visit) {
  for_each_slice_of(report_.ntasks, pointer_.maxblocks, [&](BlockSlice& slice) {
    if (table_) {
      const auto n = slice.counts.size();
      std::copy_n(table_->counts.begin() + slice.first, n, slice.counts.begin());
      for (const auto& [k, round] : table_->rounds)
        std::copy_n(round.begin() + slice.first, n, slice.round(k).begin());
    } else {
      fill(slice, reader_, pointer_);
    }
    const int64_t end = writes_table() ? whole_->status().size : INT64_MAX;
    // A task writes data before the record that counts them. If the file ends before recorded data, the file
    // was truncated, or a crash lost the data but not the journal.
    if (end < pointer_.varheader)
      for_each_block(slice, [&](int64_t offset, int64_t& bytes, size_t) {
        const int64_t there = std::clamp<int64_t>(end - offset, 0, bytes);
        missing_ += bytes - there;
        bytes = there;
      });
    if (header().compressed && writes_table()) leave_out_cut_frames(slice);
    visit(slice);
  });
}

// Leaves out incomplete frames. A killed task may have stored a part of a frame, which would be damage in a
// complete file.
void UnclosedFile::leave_out_cut_frames(BlockSlice& slice) {
  ReadStream stored;
  stored.set_max_buffer(4 << 10);
  for (size_t t = 0; t < slice.counts.size(); ++t) {
    std::vector<int64_t> sizes;
    for (int64_t b = 0; b < slice.counts[t]; ++b) sizes.push_back(slice.bytes(t, b));
    const int64_t task = slice.first + static_cast<int64_t>(t);
    const auto at = static_cast<size_t>(task);
    const layout::ChunkGeometry geometry{chunks().layout.starts[at], chunks().layout.skip,
                                         chunks().sizes[at]};
    stored.load(whole_, geometry, {sizes.data(), static_cast<int32_t>(sizes.size())}, {});
    int64_t left = read_frames(stored, {task, geometry, true}).stored_bytes;
    for (int64_t b = 0; b < slice.counts[t]; ++b) {
      int64_t& size = slice.bytes(t, b);
      size = std::min(size, left);
      left -= size;
    }
  }
}

void UnclosedFile::for_each_block(BlockSlice& slice, const VisitBlock& visit) {
  for (size_t t = 0; t < slice.counts.size(); ++t) {
    const size_t task = static_cast<size_t>(slice.first) + t;
    for (int64_t b = 0; b < slice.counts[t]; ++b)
      visit(chunks().layout.starts[task] + b * chunks().layout.skip, slice.bytes(t, b), task);
  }
}

void UnclosedFile::write_table(File& target) {
  MetadataWriter writer(target, header());
  // Truncates the file after the last round: no task has recorded the bytes there.
  target.resize(pointer_.varheader);
  report_.data_bytes = 0;
  format::Hash hash;
  for_each_found([&](BlockSlice& slice) {
    const auto size_of = [&](size_t t, int64_t block) { return slice.bytes(t, block); };
    write_block_table(writer, pointer_, slice.first, slice.counts, size_of, 0);
    add_to(hash, slice);
    report_.data_bytes += bytes_of(slice);
  });
  written_ = hash.value();
  whole_ = with_boundary_blocks(store_, file_, &boundary_blocks_);  // may have grown since the open
}

// Calls visit(slice) with the block table that was written to `target`.
void UnclosedFile::for_each_written(File& target, const VisitSlice& visit) {
  MetadataReader reader(target, header());
  for_each_slice_of(report_.ntasks, pointer_.maxblocks, [&](BlockSlice& slice) {
    fill(slice, reader, pointer_when_complete());
    visit(slice);
  });
}

void UnclosedFile::for_each_written_block(File& target, const VisitBlock& visit) {
  for_each_written(target, [&](BlockSlice& slice) { for_each_block(slice, visit); });
}

void UnclosedFile::complete(File& target, bool copies, WorkProgress& progress) {
  if (writes_table()) write_table(target);
  if (copies) {
    // The file may have grown since the open if a living job is writing to it, so its size is read again.
    const int64_t bytes = std::min(end_, file_->status().size);
    progress.begin(bytes);
    RangeCopier copier(target, progress);
    copier.add(*file_, 0, 0, bytes);
    copier.finish();
    // Earlier versions stored the plain magic in compressed files. The copy gets the magic of encoded files.
    if (header().compressed && !header().encoded)
      MetadataWriter(target, header()).write_header(reader_.extension());
  }
  if (is_complete())
    mark_guessed(target);
  else
    finish(target, progress);
}

// If some data are guessed, sets flag_guessed in the extension header of `target`. If the file cannot have
// that header, adds a note to the report instead.
void UnclosedFile::mark_guessed(File& target) {
  if (!report_.guessed) return;
  std::array<std::byte, format::fixed_size> fixed{};
  const bool is_whole = target.read_at(fixed, 0) == fixed.size();
  if (!is_whole || header().version < 5 || !format::has_room_for_extension(fixed)) {
    report_.unknown.emplace_back(
        "to later readers, that this was not known: the file can have no extension header to say so");
    return;
  }
  auto extension = format::decode_extension(fixed, target.path());
  if (!extension) extension.emplace().identity = identity_;
  extension->flags |= format::flag_guessed;
  extension->guessed_ends = std::max(extension->guessed_ends, static_cast<uint64_t>(report_.guessed_ends));
  format::put_extension(*extension, fixed);
  target.write_at(std::span(fixed).last(format::extension_size), format::extension_offset);
  target.sync();
}

// Adds the missing metadata to `target`, which already contains the data and the block table. Verifies the
// result before it writes the pointer. Syncs before it reads, because on GlusterFS a host may otherwise not
// see the bytes that it has just written at the end of the file.
void UnclosedFile::finish(File& target, WorkProgress& progress) {
  MetadataWriter writer(target, header());
  if (writes_table()) {
    target.sync();
    if (whole_ != file_)  // boundary blocks that hosts kept beside the file
      for_each_written_block(target, [&](int64_t offset, int64_t bytes, size_t) {
        copy_boundary_blocks(*whole_, boundary_blocks_, target, offset, bytes);
      });
  }
  const int64_t mapping = write_mapping(writer);
  if (mapping > 0) target.sync();
  if (!has_trailer_) write_trailer(target, mapping, progress);
  target.sync();
  check_result(target, mapping);
  mark_guessed(target);
  writer.write_pointer(pointer_);
  target.sync();
}

// Writes the mapping. Returns the number of entries, or -1 if the file has no mapping field.
int64_t UnclosedFile::write_mapping(MetadataWriter& writer) {
  const format::Header& h = header();
  const bool serial = h.nfiles == 1 && h.filenumber == 1;
  if (serial) writer.write_mapping_size(pointer_, 0);  // like the serial writers of the format
  if (!h.leads_set()) return serial ? 0 : -1;
  const int64_t tasks = reader_.read_mapping_size(pointer_);
  writer.write_mapping_size(pointer_, static_cast<int32_t>(tasks));
  layout::for_each_slice<layout::Placement>(0, tasks, repaired_at_once,
                                            [&](int64_t first, std::span<layout::Placement> entries) {
                                              reader_.read_mapping(pointer_, first, entries);
                                              writer.write_mapping(pointer_, first, entries);
                                            });
  return tasks;
}

// Writes the trailer with checksums of the current data. Earlier damage then becomes undetectable.
void UnclosedFile::write_trailer(File& target, int64_t mapping, WorkProgress& progress) {
  const auto& extension = reader_.extension();
  if (!extension || !extension->checksums()) return;
  const format::Header& h = header();
  const Pointer complete = pointer_when_complete();
  const int64_t all = count_sums(target, h, complete, extension->piece);
  const format::Trailer plan = plan_trailer(h, complete, extension->identity, all, mapping);
  const int64_t at_once = pieces_at_once * extension->piece;
  std::vector<uint32_t> sums;
  TrailerWriter(target, h, plan, extension->piece).write_all(mapping, {}, [&](TrailerWriter& writer) {
    for_each_written_block(target, [&](int64_t offset, int64_t used, size_t task) {
      const int64_t bytes = std::min(used, chunks().sizes[task]);
      for (int64_t done = 0; done < bytes; done += at_once) {
        const int64_t some = std::min(bytes - done, at_once);
        sums.resize(static_cast<size_t>(format::sums_of_block(some, some, extension->piece)));
        sum_pieces(target, offset + done, some, extension->piece, sums);
        writer.add_sums(std::as_bytes(std::span(sums)));
        progress.advance(0);
      }
    });
  });
}

// Verifies `target` by reading it back. Called before the pointer is written, because the journal stays valid
// until then.
void UnclosedFile::check_result(File& target, int64_t mapping) {
  MetadataReader found(target, header());
  const auto require = [&](bool holds, const char* what) {
    if (!holds)
      found.damaged(std::string("the repair has failed: ") + what + " cannot be read back as it was written");
  };
  if (writes_table()) {
    format::Hash hash;
    for_each_written(target, [&](BlockSlice& slice) { add_to(hash, slice); });
    require(hash.value() == written_, "the block table");
  }
  const Pointer complete = pointer_when_complete();
  if (header().leads_set()) require(found.read_mapping_size(complete) == mapping, "the mapping");
  const auto& extension = reader_.extension();
  require(!extension || !extension->checksums() || matches_trailer(target, header(), complete, extension),
          "the trailer");
}

}  // namespace sheaf::multifile
