#include "multifile/recover/unclosed_file.hpp"

#include <algorithm>

#include "layout/slices.hpp"
#include "multifile/create/copy_stream.hpp"
#include "multifile/frames/constants.hpp"
#include "multifile/frames/plain_file.hpp"
#include "multifile/metadata/boundary_blocks_reader.hpp"
#include "multifile/recover/constants.hpp"
#include "multifile/stream/file_checks.hpp"
#include "multifile/stream/task_blocks.hpp"

namespace sheaf::multifile {

using format::Pointer;
using namespace recovery_constants;

namespace {

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

}  // namespace

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
    const int64_t end = writes_table() ? whole_.file->status().size : INT64_MAX;
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
  stored.buffer().set_max(frame_constants::stored_buffer);
  for (size_t t = 0; t < slice.counts.size(); ++t) {
    std::vector<int64_t> sizes;
    for (int64_t b = 0; b < slice.counts[t]; ++b) sizes.push_back(slice.bytes(t, b));
    const int64_t task = slice.first + static_cast<int64_t>(t);
    const auto at = static_cast<size_t>(task);
    const layout::ChunkGeometry geometry{chunks().layout.starts[at], chunks().layout.skip,
                                         chunks().sizes[at]};
    stored.load(whole_.file, geometry, {sizes.data(), static_cast<int32_t>(sizes.size())}, {});
    int64_t left = read_frames(stored, {task, geometry, true}).stored_bytes;
    for (int64_t b = 0; b < slice.counts[t]; ++b) {
      int64_t& size = slice.bytes(t, b);
      size = std::min(size, left);
      left -= size;
    }
  }
}

void UnclosedFile::write_table(File& target) {
  MetadataWriter writer(target, header());
  // Truncates the file after the last round: no task has recorded the bytes there.
  target.resize(pointer_.varheader);
  report_.data_bytes = 0;
  format::Hash hash;
  for_each_found([&](BlockSlice& slice) {
    write_block_table(
        writer, pointer_, slice.first, slice.counts,
        [&](size_t t, int64_t block) { return slice.bytes(t, block); }, 0);
    add_to(hash, slice);
    report_.data_bytes += slice.total();
  });
  written_ = hash.value();
  whole_.file =
      with_boundary_blocks(store_, file_, &whole_.boundary_blocks);  // may have grown since the open
}

// Calls visit(slice) with the block table that was written to `target`.
void UnclosedFile::for_each_written(File& target, const VisitSlice& visit) {
  MetadataReader reader(target, header());
  for_each_slice_of(report_.ntasks, pointer_.maxblocks, [&](BlockSlice& slice) {
    fill(slice, reader, pointer_when_complete());
    visit(slice);
  });
}

void UnclosedFile::complete(File& target, bool copies, WorkProgress& progress) {
  if (writes_table()) write_table(target);
  if (copies) {
    // The file may have grown since the open if a living job is writing to it, so its size is read again.
    const int64_t bytes =
        std::min(writes_table() ? pointer_.varheader : reader_.file_size(), file_->status().size);
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
  if (target.read_at(fixed, 0) < fixed.size() || header().version < 5 ||
      !format::has_room_for_extension(fixed)) {
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
    if (whole_.file != file_)  // boundary blocks that hosts kept beside the file
      for_each_written_block(target, [&](int64_t offset, int64_t bytes, size_t) {
        copy_boundary_blocks(*whole_.file, whole_.boundary_blocks, target, offset, bytes);
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
  const format::Trailer plan = plan_trailer(h, complete, extension->identity,
                                            count_sums(target, h, complete, extension->piece), mapping);
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
