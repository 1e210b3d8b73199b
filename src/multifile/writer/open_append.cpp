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
#include "multifile/writer/host_separation.hpp"
#include "multifile/writer/open_to_write.hpp"
#include "multifile/writer/placed_open.hpp"
#include "storage/retries.hpp"
#include "storage/store.hpp"

namespace sheaf::multifile {

namespace {

[[noreturn]] void refuse(const OpenedSet& set, Code code, const std::string& why) {
  throw Error(code, "'" + set.path + "' cannot be appended to: " + why);
}

// Throws unless the multifile as a whole permits appending.
void check_set(const OpenedSet& set, int64_t ntasks, const OpenMode& mode) {
  if (ntasks > 0 && ntasks != set.ntasks)
    refuse(set, Code::out_of_range,
           "it holds " + std::to_string(set.ntasks) + " tasks, but " + std::to_string(ntasks) +
               " tasks opened it; " + advice_on_other_numbers_of_tasks);
  if (set.facts.unclosed)
    refuse(set, Code::unclosed, "it was never closed; make it complete with `sheaf repair` first");
  if (mode.keyval == format::KeyvalMode::inline_ && !set.facts.keyval)
    refuse(set, Code::mismatch, "it is no key-value file");
  if (mode.keyval == format::KeyvalMode::none && set.facts.keyval)
    refuse(set, Code::mismatch, "it is a key-value file");
  if (mode.userdata_order != native_order && mode.userdata_order != set.facts.userdata_order)
    refuse(set, Code::mismatch, "its user data have another byte order");
}

// Throws unless the tables of this process's slice permit appending.
void check_tables(const OpenedSet& set) {
  const TableSlice& old = *set.old();
  for (size_t s = 0; s < set.placed->segments.size(); ++s) {
    const Segment& segment = set.placed->segments[s];
    const format::Header& h = old.headers[s];
    const std::string file = " (file " + std::to_string(segment.file) + ")";
    if (h.version != format::newest_version)
      refuse(set, Code::unsupported,
             "its format version is " + std::to_string(h.version) + ", not " +
                 std::to_string(format::newest_version) + file);
    if (h.metadata_order != native_order)
      refuse(set, Code::unsupported, "its metadata have the byte order of another machine" + file);
    for (size_t row = segment.row; row < segment.end(); ++row) {
      const std::string task =
          "local task " + std::to_string(segment.first + static_cast<int64_t>(row - segment.row)) + file;
      if (old.readers[row] > 1)
        refuse(set, Code::invalid_argument, task + " is in the hands of several processes");
      for (int64_t b = 0; b < old.counts[row]; ++b)
        if (old.block(row, b) > old.sizes[row])
          refuse(set, Code::unsupported, "a block of " + task + " is larger than its chunk");
    }
  }
}

// Returns the blocks and checksums of a task, so that its stream continues after them. The metadata tasks
// have verified the checksums. The checksum of a partial last piece continues from its current value.
TaskBlocks blocks_to_continue(const Readable& task, std::span<const int64_t> sizes) {
  const uint32_t piece = task.sums.piece;
  int64_t whole = 0;
  for (size_t b = 0; piece > 0 && b < sizes.size(); ++b)
    whole +=
        b + 1 < sizes.size() ? format::sums_of_block(sizes[b], task.geometry.size, piece) : sizes[b] / piece;
  std::vector<uint32_t> sums(static_cast<size_t>(whole));
  if (whole > 0) read_sums(*task.file, task.sums.at, sums);
  TaskBlocks blocks = TaskBlocks::with_sums(piece);
  blocks.continue_behind(sizes, std::move(sums));
  if (blocks.piece == 0 || blocks.position % blocks.piece == 0) return blocks;
  ReadStream stream;
  stream.load(task.file, task.geometry, task.sizes, {}, task.sums);
  std::vector<std::byte> begun(static_cast<size_t>(blocks.position % blocks.piece));
  stream.blocks().read({blocks.count() - 1, blocks.position - std::ssize(begun)}, begun);
  blocks.running = crc32c(0, begun);
  return blocks;
}

// Restores the blocks and checksums of the tasks. Collective.
void continue_blocks(OpenedSet& set, const OpenTasks& found) {
  agree(*set.comm, attempt([&] {
    for (size_t i = 0; i < found.own.tasks.size(); ++i) {
      const std::vector<int64_t> sizes = found.stored(i).sizes.all();
      set.placed->ends_before.push_back({std::ssize(sizes) - 1, sizes.back()});
      set.blocks.push_back(blocks_to_continue(found.stored(i), sizes));
    }
  }));
}

// Restores the frame tables, so that new frames follow the existing ones. Collective.
void continue_compressing(OpenedSet& set, const OpenTasks& found, const OpenMode& mode) {
  std::vector<CompressedWriter::CompressedTask> tasks;
  codec::Compression how;
  agree(*set.comm, attempt([&] {
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
    codec::require(how.codec, set.path);
  }));
  compress(set, how, tasks_per_node(*set.comm));
  set.compressed->parked = std::move(tasks);
}

// Reads what follows the block table of file 0: the sections with names, and the number of entries of the
// mapping field, which is returned. -1: no such field.
int32_t read_lead(const OpenedSet& set, std::vector<MoreSection>& names) {
  const auto file = set.store().open(set.path, Access::read);
  MetadataReader reader(*file);
  const format::Pointer p = reader.read_pointer();
  const int64_t end = p.varheader + layout::meta2_size(reader.header().ntasks, p.maxblocks);
  const FileChecks* const checks = reader.checks(p);
  if (checks) names = read_name_sections(*file, *checks);
  if (reader.header().leads_set()) return static_cast<int32_t>(reader.read_mapping_size(p));
  if (checks && checks->trailer().plain_end == end) return -1;
  std::array<std::byte, 4> bytes;
  if (set.facts.nfiles != 1 || file->read_at(bytes, end) != bytes.size()) return -1;
  const auto entries = load<int32_t>(bytes.data(), reader.header().metadata_order);
  if (entries == 0) return 0;
  return entries == set.ntasks && reader.file_size() >= end + 4 + 8 * int64_t{entries} ? entries : -1;
}

// Reads the mapping of the multifile, so that the close can write it again: new chunks may overwrite it.
// Collective.
void read_mapping(OpenedSet& set) {
  PlacedTables& tables = *set.placed;
  tables.numbers = partition_mapping(set);
  int32_t& entries = set.terms.mapping_entries;
  auto problem = attempt([&] {
    if (set.comm->rank() == 0) entries = read_lead(set, tables.names);
  });
  set.comm->broadcast(std::as_writable_bytes(std::span(&entries, 1)), 0);
  if (!problem && entries > 0)
    problem = attempt([&] {
      if (tables.numbers->count() == 0) return;
      const auto file = open_with_retries(set.store(), set.path, Access::read);
      MetadataReader reader(*file);
      tables.mapping.resize(static_cast<size_t>(tables.numbers->count()));
      reader.read_mapping(reader.read_pointer(), tables.numbers->first(), tables.mapping);
    });
  agree(*set.comm, problem);
}

// Records the existing contents of a segment in the journal of its file. Local.
void record_old_blocks(const OpenedSet& set, const Segment& s) {
  const std::string name = set.name_of(s.file);
  const auto file = open_with_retries(set.store(), name, Access::write);
  MetadataReader reader(*file);
  JournalKey key = JournalKey::of(reader.header(), reader.extension());
  key.hosts = set.hosts;
  key.first = false;  // a complete file keeps its pointer
  const auto unrecorded = attempt([&] {
    if (!key.has_identity())
      throw Error(Code::unsupported, "it has no extension header, as files of other libraries");
    record_blocks(set, *file, key, s.first, s.of(set.old()->counts),
                  [&](size_t t, int64_t block) { return set.old()->block(s.row + t, block); });
  });
  if (unrecorded)
    throw Error(unrecorded->code(),
                "'" + name + "' cannot be appended to, as its journal cannot be made: " + unrecorded->what() +
                    ". Without one nothing of the multifile can be read if the program dies; open mode "
                    "journal=off appends all the same",
                unrecorded->errno_value());
}

// Agrees on `problem`. Calls undo() before it throws. Collective.
template <class Undo>
void agree_or_undo(const OpenedSet& set, const std::optional<Error>& problem, Undo&& undo) {
  try {
    agree(*set.comm, problem);
  } catch (...) {
    undo();
    throw;
  }
}

// Records the existing contents in the journals, because only the journals describe them once the block
// tables are overwritten. Collective. Throws if a journal cannot be written.
void write_old_records(const OpenedSet& set) {
  if (!set.stream->target().keeps_journal()) return;
  const auto remove_journals = [&] {
    for (const Segment& s : set.placed->segments)
      if (s.first == 0) remove_leftovers(set.store(), set.name_of(s.file), {}, set.hosts.count);
  };
  agree(*set.comm, attempt(remove_journals));
  const auto record = [&] {
    for (const Segment& s : set.placed->segments) record_old_blocks(set, s);
  };
  agree_or_undo(set, attempt(record), [&] { attempt(remove_journals); });
}

// Marks the files as unclosed before any task writes. The metadata tasks set the marks. Other tasks could not
// set them later, when a further round overwrites the block table, because a page of META1 must have only one
// writer. If one file cannot be marked, all files stay complete. Collective.
void mark_appended(OpenedSet& set) {
  const auto mark = [&] {
    for (const Segment& s : set.placed->segments)
      if (s.first == 0)
        change_file(set, s, [](File& file, const format::Header& h) {
          file.write_at(AppendedFile::unclosed(), h.pointer_offset());
        });
  };
  agree_or_undo(set, attempt(mark), [&] { undo_open(set); });
}

// Prepares a complete file that this process has opened for appending: writes to it will mark it as unclosed
// in time (AppendedFile). mark_appended() marks files with boundary blocks. Local.
void append_to(const OpenedSet& set, OwnFile& f) {
  MetadataReader reader(*f.file);
  AppendedFile::Marks marks{reader.header().pointer_offset(), std::nullopt, set.facts.durable};
  if (!f.boundary_blocks) marks.table = reader.read_pointer().varheader;
  f.fsblksize = reader.header().fsblksize;
  know_journal(set, f, reader.header(), reader.extension());
  f.key.required = true;
  if (f.boundary_blocks) f.boundary_blocks->keep_earlier(f.file);
  const auto appended = std::make_shared<AppendedFile>(boundary_file(std::move(f.file), f.boundary_blocks),
                                                       marks, set.rights ? set.rights->to_write : nullptr);
  f.key.watch = appended.get();
  f.file = appended;
}

}  // namespace

OpenedSet open_append(Store& store, std::unique_ptr<Comm> comm, const MappedAppendRequest& request,
                      const OpenMode& mode) {
  OpenedSet set = begin_set(store, std::move(comm), request.tasks.path, request.tasks.name_of, mode);
  set.placed = std::make_unique<PlacedTables>();
  find_hosts_of_set(set);
  OpenMode reading = mode;
  reading.checksums = true;  // damaged files must not be appended to
  OpenTasks found(store, *set.comm, request.tasks, reading, set.placed.get(), slicing_of(set.hosts));
  set.facts = found.facts();
  set.facts.durable = mode.durable;
  set.ntasks = found.ntasks();
  set.terms.unused = static_cast<int32_t>(set.old()->unused);
  agree(*set.comm, attempt([&] {
    check_set(set, request.ntasks, mode);
    check_tables(set);
    if (request.right) made_if_null(set.rights).to_write = request.right;
    if (!request.right && mode.lease != 0)
      made_if_null(set.rights).to_write = WritingRight::open(store, set.path, mode.lease, mode.is_local);
  }));
  continue_blocks(set, found);
  if (set.facts.compressed) continue_compressing(set, found, mode);
  static_cast<LocalTasks&>(set) = std::move(found.own);
  for (OwnFile& f : set.files) f.file.reset();
  read_mapping(set);
  const auto slots = exchange::share_slots(*set.comm, store, mode.io_tasks);
  open_own_files(set, slots, [&](OwnFile& f) { append_to(set, f); });
  keep_hosts_apart(set);
  write_old_records(set);
  if (set.hosts.unit > 0) mark_appended(set);
  set.bind_first();
  return set;
}

}  // namespace sheaf::multifile
