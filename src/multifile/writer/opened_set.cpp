#include "multifile/writer/opened_set.hpp"

#include <algorithm>

#include "comm/agree.hpp"
#include "storage/decorators/gathered_file.hpp"
#include "storage/retries.hpp"
#include "storage/store.hpp"

namespace sheaf::multifile {

OpenedSet begin_set(Store& store, std::unique_ptr<Comm> comm, std::string path, NameOf names,
                    const OpenMode& mode) {
  OpenedSet set;
  set.comm = std::move(comm);
  set.path = std::move(path);
  if (names) set.names = std::make_unique<const NameOf>(std::move(names));
  set.facts = {.keyval = mode.keyval == format::KeyvalMode::inline_,
               .durable = mode.durable,
               .compressed = mode.compression.on(),
               .userdata_order = mode.userdata_order};
  set.buffer_bytes = mode.buffer_bytes;
  set.stream = std::make_unique<WriteStream>();
  set.stream->chunks().watch_length(mode.is_local && !mode.is_async());
  set.stream->target().keep_journal(store, mode.journal, mode.durable);
  if (mode.is_async()) made_if_null(set.made).deferred = std::make_unique<DeferredCompletion>();
  return set;
}

NewFile create_in_set(OpenedSet& set, int32_t number, std::string_view stored_name, OldFile old) {
  const std::string name = set.name_of(number);
  const bool renamed = !set.names && !stored_name.empty();
  NewFile opened = create_file(set.store(), name, renamed ? format::physical_name(stored_name, number) : name,
                               number == 0 || set.names ? std::string() : set.name_of(0), old);
  if (!opened.existed) made_if_null(set.made).created.push_back(name);
  if (!opened.aside.empty()) made_if_null(set.made).aside.emplace_back(opened.replaced, opened.aside);
  return opened;
}

void drop_set_aside(OpenedSet& set) {
  if (!set.made) return;
  for (const auto& [name, aside] : set.made->aside) remove_set_aside(set.store(), name, aside);
  set.made->aside.clear();
}

void require_tasks_for_files(const OpenedSet& set) {
  if (set.facts.nfiles > set.ntasks)
    throw Error(Code::invalid_argument, "'" + set.path + "': " + std::to_string(set.facts.nfiles) +
                                            " physical files for " + std::to_string(set.ntasks) + " tasks");
}

int64_t tasks_per_node(Comm& comm) { return std::max(1, comm.size() / std::max(1, comm.node_count())); }

void compress(OpenedSet& set, const codec::Compression& how, int64_t neighbours) {
  set.compressed =
      std::make_unique<CompressedWriter>(*set.stream, codec::with_threads(how, neighbours), set.path);
  set.compressed->parked.resize(set.tasks.size());
}

format::Header header_of(const OpenedSet& set, int32_t file, int64_t file_tasks, int32_t fsblksize) {
  using format::KeyvalMode;
  return {{.userdata_order = set.facts.userdata_order,
           .fsblksize = fsblksize,
           .ntasks = static_cast<int32_t>(file_tasks),
           .nfiles = set.facts.nfiles,
           // Serial writers of the format have always stored 1 for a single file; open_serial() sets it.
           .filenumber = set.facts.nfiles == 1 ? set.facts.filenumber : file,
           .flag1 = format::Header::flag_of(set.facts.keyval ? KeyvalMode::inline_ : KeyvalMode::none)}};
}

const OwnFile* kept_open(const OpenedSet& set, int32_t file) {
  const auto kept = std::span(set.files).first(static_cast<size_t>(set.terms.kept_files));
  const auto found = std::ranges::lower_bound(kept, file, {}, &OwnFile::number);
  return found != kept.end() && found->number == file ? &*found : nullptr;
}

void change_file(const OpenedSet& set, const Segment& segment,
                 const std::function<void(File&, const format::Header&)>& change, Outlives what) {
  const OwnFile* const kept = kept_open(set, segment.file);
  const auto file =
      kept ? kept->file : open_with_retries(set.store(), set.name_of(segment.file), Access::write);
  const format::Header header = header_of(set, segment.file, segment.file_tasks, segment.fsblksize);
  if (set.old()) {  // the table is changed in place and must be valid at every moment
    change(*file, header);
  } else {
    GatheredFile together(file);
    change(together, header);
    together.flush();
  }
  if (set.facts.durable)
    file->sync();
  else if (what == Outlives::host)
    file->publish();
  if (!kept) file->close();
}

void record_blocks(const OpenedSet& set, File& file, const JournalKey& key, int64_t first,
                   std::span<const int64_t> counts, const std::function<int64_t(size_t, int64_t)>& size_of) {
  JournalWriter journal(set.store(), key, set.facts.durable ? Journaling::durable : Journaling::required);
  journal.report_all(file, first, counts, size_of);
  if (set.facts.durable) journal.sync(file);
  journal.close();
}

namespace {

// Marks a new file as unclosed, and creates its journal with a first record, because a journal without
// records counts as lost. If the journal cannot be created, the tasks detect that themselves. Local. The
// metadata writer calls it.
void mark_unclosed(const OpenedSet& set, File& file, const format::Header& header,
                   const std::optional<format::Extension>& extension) {
  JournalKey key = JournalKey::of(header, extension);
  key.hosts = set.hosts;
  if (!key.has_identity()) return;
  const int64_t blocks = 1;
  const auto unmade = attempt([&] {
    record_blocks(set, file, key, 0, std::span(&blocks, 1), [](size_t, int64_t) { return int64_t{0}; });
  });
  if (!unmade) file.write_at(format::journal_mark, key.pointer_offset());
}

// Marks the files, which must be unchanged, as complete again. Local. Never throws.
void give_back_pointers(const OpenedSet& set) {
  for (size_t s = 0; s < set.placed->segments.size(); ++s) {
    if (set.placed->segments[s].first != 0) continue;
    attempt([&] {
      change_file(set, set.placed->segments[s], [&](File& file, const format::Header& h) {
        MetadataWriter(file, h).write_pointer(set.placed->old->pointers[s]);
      });
    });
  }
}

}  // namespace

void write_metadata(const OpenedSet& set, std::span<const Segment> segments,
                    std::span<const RequestedRow> rows, std::string_view stored_name,
                    const std::optional<format::Extension>& extension) {
  const bool keeps_journal = set.stream->target().keeps_journal();
  for (const Segment& s : segments) {
    std::vector<int64_t> ranks;
    std::vector<int64_t> sizes;
    for (const RequestedRow& r : s.of(rows)) {
      ranks.push_back(r.globalrank);
      sizes.push_back(r.chunk_size);
    }
    const auto write = [&](File& file, format::Header h) {
      if (s.first == 0) h.set_name(stored_name);
      MetadataWriter writer(file, h);
      if (s.first == 0) writer.write_header(extension);
      if (s.first == 0 && set.placed && set.hosts.unit > 0 && keeps_journal)
        mark_unclosed(set, file, h, extension);
      writer.write_ranks_and_sizes(s.first, ranks, sizes);
    };
    // Committed bytes of one file are readable only if all files of the set are readable, so META1 must be
    // visible to all hosts.
    change_file(set, s, write, keeps_journal && set.hosts.own_caches ? Outlives::host : Outlives::process);
  }
}

void require_same_file(File& file, const format::Identity& identity) {
  if (identity == format::Identity{}) return;
  const auto extension = MetadataReader(file).extension();
  if (extension && extension->identity == identity) return;
  throw file_error(Code::foreign, file.path(),
                   "was replaced while this program is writing it: it belongs to another open");
}

void undo_open(OpenedSet& set) {
  if (set.old() && set.hosts.unit > 0) give_back_pointers(set);
  if (!set.made) return;
  for (const std::string& name : set.made->created) {
    if (set.hosts.unit > 0) remove_leftovers(set.store(), name, {}, set.hosts.count);
    attempt([&] { set.store().remove(name); });
  }
  for (const auto& [name, aside] : set.made->aside) attempt([&] { set.store().rename(aside, name); });
  set.made->aside.clear();
}

}  // namespace sheaf::multifile
