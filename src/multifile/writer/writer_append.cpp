// Opens a complete multifile to append at the ends of its streams.
#include <algorithm>

#include "base/checked.hpp"
#include "base/crc32c.hpp"
#include "comm/agree.hpp"
#include "exchange/transfer/throttle.hpp"
#include "multifile/frames/plain_file.hpp"
#include "multifile/metadata/task_names.hpp"
#include "multifile/stream/file_checks.hpp"
#include "multifile/writer/appended_file.hpp"
#include "multifile/writer/writer.hpp"
#include "storage/retries.hpp"
#include "storage/store.hpp"

namespace sheaf::multifile {

Writer::Writer(Store& store, std::unique_ptr<Comm> comm, const MappedAppendRequest& request,
               const OpenMode& mode)
    : Writer(store, std::move(comm), request.tasks.path, request.tasks.name_of, mode) {
  placed_ = std::make_unique<PlacedState>();
  find_unit();
  OpenMode reading = mode;
  reading.checksums = true;  // damaged files must not be appended to
  OpenTasks found(store, *comm_, request.tasks, reading, placed_.get(), slicing());
  facts_ = found.facts();
  facts_.durable = mode.durable;
  ntasks_ = found.ntasks();
  agree(*comm_, attempt([&] {
    check_appending(request, mode);
    if (request.right) right().to_write = request.right;
    if (!request.right && mode.lease != 0)
      right().to_write = WritingRight::open(store, path_, mode.lease, mode.is_local);
  }));
  go_on_behind(found);
  if (facts_.compressed) go_on_compressing(found, mode);
  mine_ = std::move(found.own);
  for (OwnFile& f : mine_.files) f.file.reset();
  read_mapping();
  placed_->slots = exchange::share_slots(*comm_, store, mode.io_tasks);
  open_own_files();
  keep_hosts_apart();
  write_old_slots();
  if (unit_ > 0) mark_appended();
  load_first();
}

// Restores the frame tables, so that new frames follow the existing ones. Collective.
void Writer::go_on_compressing(const OpenTasks& found, const OpenMode& mode) {
  std::vector<CompressedWriter::CompressedTask> tasks;
  codec::Compression how;
  agree(*comm_, attempt([&] {
    for (size_t i = 0; i < found.own.tasks.size(); ++i) {
      const Readable& task = found.stored(i);
      ReadStream stored;
      stored.load(task.file, task.geometry, task.sizes, {}, task.sums);
      StoredFrames frames = read_frames(stored, {found.own.tasks[i].task, task.geometry});
      tasks.push_back(appended_task(std::move(frames.table), frames.indexed));
      if (const auto e = MetadataReader(*task.file).extension())
        how = {e->codec, e->level, e->shuffle,
               std::clamp(e->frame, format::smallest_frame, format::largest_frame)};
    }
    how.threads = mode.compression.threads;
    codec::require(how.codec, path_);
  }));
  compress(how, tasks_per_node());
  compressed_->parked = std::move(tasks);
}

// Restores the blocks and checksums of the tasks. The metadata tasks have verified the checksums. The
// checksum of a partial last piece continues from its current value. Collective.
void Writer::go_on_behind(const OpenTasks& found) {
  agree(*comm_, attempt([&] {
    for (size_t i = 0; i < found.own.tasks.size(); ++i) {
      const Readable& task = found.stored(i);
      const uint32_t piece = task.sums.piece;
      const std::vector<int64_t> sizes = task.sizes.all();
      int64_t whole = 0;
      for (size_t b = 0; piece > 0 && b < sizes.size(); ++b)
        whole += b + 1 < sizes.size() ? format::sums_of_block(sizes[b], task.geometry.size, piece)
                                      : sizes[b] / piece;
      std::vector<uint32_t> sums(static_cast<size_t>(whole));
      if (whole > 0) read_sums(*task.file, task.sums.at, sums);
      placed_->ends_before.push_back({std::ssize(sizes) - 1, sizes.back()});
      TaskBlocks& blocks = blocks_.emplace_back(TaskBlocks::with_sums(piece));
      blocks.continue_behind(sizes, std::move(sums));
      if (blocks.piece == 0 || blocks.position % blocks.piece == 0) continue;
      std::vector<std::byte> begun(static_cast<size_t>(blocks.position % blocks.piece));
      BlockReader(task.file, task.geometry, task.sizes, task.sums)
          .read({blocks.count() - 1, blocks.position - std::ssize(begun)}, begun);
      blocks.running = crc32c(0, begun);
    }
  }));
}

void Writer::check_appending(const MappedAppendRequest& request, const OpenMode& mode) const {
  const auto refuse = [&](Code code, const std::string& why) {
    throw Error(code, "'" + path_ + "' cannot be appended to: " + why);
  };
  if (request.ntasks > 0 && request.ntasks != ntasks_)
    refuse(Code::out_of_range, "it holds " + std::to_string(ntasks_) + " tasks, but " +
                                   std::to_string(request.ntasks) + " tasks opened it; " +
                                   advice_on_other_numbers_of_tasks);
  if (facts_.unclosed)
    refuse(Code::unclosed, "it was never closed; make it complete with `sheaf repair` first");
  if (mode.keyval == format::KeyvalMode::inline_ && !facts_.keyval)
    refuse(Code::mismatch, "it is no key-value file");
  if (mode.keyval == format::KeyvalMode::none && facts_.keyval)
    refuse(Code::mismatch, "it is a key-value file");
  if (mode.userdata_order != native_order && mode.userdata_order != facts_.userdata_order)
    refuse(Code::mismatch, "its user data have another byte order");
  for (size_t s = 0; s < placed_->segments.size(); ++s) {
    const Segment& segment = placed_->segments[s];
    const format::Header& h = placed_->old->headers[s];
    const std::string file = " (file " + std::to_string(segment.file) + ")";
    if (h.version != format::newest_version)
      refuse(Code::unsupported, "its format version is " + std::to_string(h.version) + ", not " +
                                    std::to_string(format::newest_version) + file);
    if (h.metadata_order != native_order)
      refuse(Code::unsupported, "its metadata have the byte order of another machine" + file);
    for (size_t row = segment.row; row < segment.end(); ++row) {
      const std::string task =
          "local task " + std::to_string(segment.first + static_cast<int64_t>(row - segment.row)) + file;
      if (placed_->old->readers[row] > 1)
        refuse(Code::invalid_argument, task + " is in the hands of several processes");
      for (int64_t b = 0; b < placed_->old->counts[row]; ++b)
        if (placed_->old->block(row, b) > placed_->old->sizes[row])
          refuse(Code::unsupported, "a block of " + task + " is larger than its chunk");
    }
  }
}

// Reads the mapping of the multifile, so that the close can write it again: new chunks may overwrite it.
// Collective.
void Writer::read_mapping() {
  placed_->numbers =
      std::make_unique<MetadataPartition>(*comm_, ntasks_, unit_ > 0 ? Slicing::whole : Slicing::groups);
  int64_t entries = -1;  // number of entries of the mapping field; -1: no field
  auto problem = attempt([&] {
    if (comm_->rank() != 0) return;
    const auto file = store_->open(path_, Access::read);
    MetadataReader reader(*file);
    const format::Pointer p = reader.read_pointer();
    const int64_t end = p.varheader + layout::meta2_size(reader.header().ntasks, p.maxblocks);
    const FileChecks* const checks = reader.checks(p);
    if (checks) placed_->names = read_name_sections(*file, *checks);
    if (reader.header().leads_set()) {
      entries = reader.read_mapping_size(p);
    } else if (checks && checks->trailer().plain_end == end) {
      entries = -1;
    } else if (std::array<std::byte, 4> bytes;
               facts_.nfiles == 1 && file->read_at(bytes, end) == bytes.size()) {
      const int64_t found = load<int32_t>(bytes.data(), reader.header().metadata_order);
      const bool there = found == ntasks_ && reader.file_size() >= end + 4 + 8 * found;
      if (found == 0 || there) entries = found;
    }
  });
  comm_->broadcast(std::as_writable_bytes(std::span(&entries, 1)), 0);
  placed_->mapping_entries = entries;
  if (!problem && entries > 0)
    problem = attempt([&] {
      if (placed_->numbers->count() == 0) return;
      const auto file = open_with_retries(*store_, path_, Access::read);
      MetadataReader reader(*file);
      placed_->mapping.resize(static_cast<size_t>(placed_->numbers->count()));
      reader.read_mapping(reader.read_pointer(), placed_->numbers->first(), placed_->mapping);
    });
  agree(*comm_, problem);
}

// Records the existing contents in the journals, because only the journals describe them once the block
// tables are overwritten. Collective. Throws if a journal cannot be written.
void Writer::write_old_slots() {
  if (!stream_.target().keeps_journal()) return;
  const auto remove_journals = [&] {
    for (const Segment& s : placed_->segments)
      if (s.first == 0) remove_leftovers(*store_, name_of(s.file), {}, hosts_.count);
  };
  agree(*comm_, attempt(remove_journals));
  const auto problem = attempt([&] {
    for (const Segment& s : placed_->segments) {
      const std::string name = name_of(s.file);
      const auto file = open_with_retries(*store_, name, Access::write);
      MetadataReader reader(*file);
      JournalKey key = JournalKey::of(reader.header(), reader.extension());
      key.hosts = hosts_;
      key.first = false;  // a complete file keeps its pointer
      const auto unrecorded = attempt([&] {
        if (!key.has_identity())
          throw Error(Code::unsupported, "it has no extension header, as files of other libraries");
        record_blocks(*file, key, s.first, s.of(placed_->old->counts),
                      [&](size_t t, int64_t block) { return placed_->old->block(s.row + t, block); });
      });
      if (unrecorded)
        throw Error(unrecorded->code(),
                    "'" + name +
                        "' cannot be appended to, as its journal cannot be made: " + unrecorded->what() +
                        ". Without one nothing of the multifile can be read if the program dies; open mode "
                        "journal=off appends all the same",
                    unrecorded->errno_value());
    }
  });
  try {
    agree(*comm_, problem);
  } catch (...) {
    attempt(remove_journals);
    throw;
  }
}

// Marks the files as unclosed before any task writes. The metadata tasks set the marks. Other tasks could not
// set them later, when a further round overwrites the block table, because a page of META1 must have only one
// writer. If one file cannot be marked, all files stay complete. Collective.
void Writer::mark_appended() {
  const auto problem = attempt([&] {
    for (const Segment& s : placed_->segments)
      if (s.first == 0)
        change_file(s, [](File& file, const format::Header& h) {
          file.write_at(AppendedFile::unclosed(), h.pointer_offset());
        });
  });
  try {
    agree(*comm_, problem);
  } catch (...) {
    give_back_pointers();
    throw;
  }
}

// Marks the files, which must be unchanged, as complete again. Local. Never throws.
void Writer::give_back_pointers() {
  for (size_t s = 0; s < placed_->segments.size(); ++s) {
    if (placed_->segments[s].first != 0) continue;
    attempt([&] {
      change_file(placed_->segments[s], [&](File& file, const format::Header& h) {
        MetadataWriter(file, h).write_pointer(placed_->old->pointers[s]);
      });
    });
  }
}

// Prepares a complete file that this process has opened for appending: writes to it will mark it as unclosed
// in time (AppendedFile). mark_appended() has already marked files with boundary blocks. Local.
void Writer::append_to(OwnFile& f) {
  MetadataReader reader(*f.file);
  AppendedFile::Marks marks{reader.header().pointer_offset(), std::nullopt, facts_.durable};
  if (!f.boundary_blocks) marks.table = reader.read_pointer().varheader;
  f.fsblksize = reader.header().fsblksize;
  know_journal(f, reader.header(), reader.extension());
  f.key.required = true;
  if (f.boundary_blocks) f.boundary_blocks->keep_earlier(f.file);
  const auto appended = std::make_shared<AppendedFile>(boundary_file(std::move(f.file), f.boundary_blocks),
                                                       marks, right_ ? right_->to_write : nullptr);
  f.key.watch = appended.get();
  f.file = appended;
}

}  // namespace sheaf::multifile
