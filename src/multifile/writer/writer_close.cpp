// Closes a multifile. In every file, the data are written first, then the block table and the mapping, then
// the pointer, which makes the file complete. File 0, which all readers open first, is completed after all
// other files.
#include "base/assert.hpp"
#include "comm/reduce.hpp"
#include "multifile/buddy/buddy.hpp"
#include "multifile/stream/file_checks.hpp"
#include "multifile/writer/block_table.hpp"
#include "multifile/writer/writer.hpp"
#include "storage/decorators/gathered_file.hpp"
#include "storage/retries.hpp"

namespace sheaf::multifile {

void Writer::close() {
  Closing closing;
  // The close will fail, so commit: readers of the unclosed files then find all accepted bytes.
  if (failed_.any()) attempt([&] { commit(); });
  try {
    finish(closing);
  } catch (...) {
    attempt([&] {
      if (stream_.chunks().handle()) stream_.chunks().handle()->close();
    });
    if (grouped_ && stream_.target().keeps_journal() && !collecting_) report_rows(closing.rows);
    throw;
  }
}

void Writer::finish(Closing& closing) {
  std::optional<MetadataPartition> by_rank;
  if (grouped_) by_rank.emplace(local(), boundary_blocks() ? Slicing::whole : Slicing::groups);
  MetadataPartition& slices = by_rank ? *by_rank : *placed_->rows;
  const std::vector<Segment> own = grouped_ ? own_segment(slices) : std::vector<Segment>();

  // When appending, another program may have taken over the multifile. This program must then not write the
  // files.
  if (old()) agree(*comm_, attempt([&] { require_ownership(Ownership::LeaseCheck::name); }));
  auto problem = finish_streams(closing, max_sums_in_row(slices.largest()));
  const BlockTable table(slices.collect_pieces([&, begin = size_t{0}](int metadata_writer) mutable {
    const auto rows = std::span(closing.rows).subspan(begin);
    size_t end = 0;
    while (end < rows.size() && slices.metadata_writer_of(RowView(&rows[end]).row()) == metadata_writer)
      end += RowView(&rows[end]).bytes();
    begin += end;
    return std::span<const std::byte>(rows.first(end));
  }),
                         slices, old());
  SliceSums sums = table.sums();
  std::vector<EndedSegment> segments =
      find_ends(slices, grouped_ ? own : placed_->segments, table, sums, problem);
  const auto step = [&](auto&& act) {
    if (!problem) problem = attempt(act);
  };
  if (unit_ > 0) {
    if (old()) agree(*comm_, problem);  // its table does not show which tasks have failed
    const auto lost = merge_own_boundary_blocks(segments);
    if (!problem) problem = lost;
  }
  if (old()) {
    agree(*comm_, problem);
    step([&] { take_pointers_away(segments); });
    agree(*comm_, problem);
  }
  const bool sums_follow = sums.in_rounds() > 0;
  SumRounds rounds;
  if (!sums_follow)
    step([&] {
      write_tables(segments, table, sums, rounds);
      // A file with one metadata writer needs no agreement of its own. Its metadata writer sees from the rows
      // that the bytes of every task are written, and completes it at once. write_tables() has written no
      // table if any task failed.
      if (!std::ranges::all_of(segments, &EndedSegment::sound)) return;
      for (EndedSegment& s : segments)
        if (s.file != 0 && s.count == s.file_tasks && !old() && unit_ == 0) complete_file(s);
    });
  Lead lead = lead_of(segments);
  lead.sums_follow = sums_follow;
  agree(*comm_, problem, lead);
  if (lead.sums_follow) {
    rounds = plan_rounds(slices, table, sums, closing, problem);
    if (sums_follow) step([&] { write_tables(segments, table, sums, rounds); });
    rounds.finish();
    agree(*comm_, problem);
  }
  // When appending to a multifile without tasks, there are no segments, and the file stays unchanged and
  // complete.
  const bool has_tasks = lead.process >= 0;
  if (has_tasks && mapping_entries() >= 0 && !(grouped_ && blockwise_)) {
    step([&] { write_known_mapping(lead); });
    agree(*comm_, problem);
  }
  const auto complete = [&](bool first) {
    for (EndedSegment& s : segments)
      if (s.first == 0 && !s.complete && (s.file == 0) == first) step([&] { complete_file(s); });
  };
  complete(false);
  if (lead.incomplete) agree(*comm_, problem);
  complete(true);
  if (has_tasks) agree_with(*comm_, problem, static_cast<int>(lead.process));
  for (const OwnFile& f : mine_.files)
    if (f.boundary_blocks) f.boundary_blocks->remove();
  if (collecting_ && collecting_->buddies > 0) {
    comm_->barrier();  // each file must be complete before other tasks read it
    write_buddies(*store_, *comm_, local().rank() == 0 ? facts_.filenumber : -1, path(), path_,
                  collecting_->buddies);
  }
  if (lead.overran) look_for_losses(closing);
}

// Returns the values that this process knows. Local.
Writer::Lead Writer::lead_of(std::span<const EndedSegment> segments) const {
  Lead lead;
  for (const EndedSegment& s : segments)
    if (s.first == 0 && s.file == 0)
      lead = {s.pointer.varheader, s.pointer.maxblocks, s.file_tasks, s.fsblksize, s.sums, s.piece,
              comm_->rank()};
  lead.incomplete = std::ranges::any_of(
      segments, [](const EndedSegment& s) { return s.first == 0 && s.file > 0 && !s.complete; });
  lead.overran = std::ranges::any_of(blocks_, [](const TaskBlocks& b) { return !b.overruns().empty(); });
  return lead;
}

// Writes all bytes to the files or boundary files, and computes the rows of the tasks. Collective in
// collective writing. Returns an error of this process.
std::optional<Error> Writer::finish_streams(Closing& closing, int64_t max_sums) {
  SHEAF_ASSERT(closing.rows.empty() && closing.sums.empty() && max_sums >= 0);
  auto problem = attempt([&] { failed_.require_none(); });
  attempt(problem, [&] {
    require_ownership(Ownership::LeaseCheck::name);
    for (size_t i = 0; compressed_ && i < mine_.tasks.size(); ++i) {
      select(mine_.tasks[i].task);
      compressed_->finish();
    }
  });
  const auto unsent = collective() ? collective()->finish() : std::nullopt;
  if (!problem) problem = unsent;
  if (collecting_) collecting_->writer.reset();
  if (problem) return problem;
  problem = attempt([&] {
    if (const auto handle = stream_.release_handle()) handle->close();
    if (!mine_.tasks.empty()) park();
    for (OwnFile& f : mine_.files)
      if (f.handle) f.handle->close();
    for (const size_t i : mine_.row_order()) {
      const OwnTask& t = mine_.tasks[i];
      const OwnFile& f = mine_.files[t.file];
      // The journal may exist if this process has written records or announced boundary blocks, or if the
      // metadata writer has created it (mark_unclosed()).
      const bool may_have_journal = (!grouped_ && unit_ > 0) || f.journal ||
                                    (t.file == mine_.tasks[current_].file && stream_.target().journal()) ||
                                    (f.boundary_blocks && f.boundary_blocks->in_use());
      std::vector<uint32_t> sums = blocks_[i].take_sums(*f.file, t.geometry);
      append_row(closing.rows, t.row, blocks_[i], may_have_journal, sums, max_sums);
      if (!closing.losses)
        closing.losses = attempt([&] {
          require_tails(written(i), f.file->path());
          overruns_.check(*f.file, written(i, sums));
        });
      if (closing.sums.empty()) {
        closing.sums = std::move(sums);
      } else {
        closing.sums.insert(closing.sums.end(), sums.begin(), sums.end());
      }
    }
    // The operating system may report write errors only when a file is closed. They must be known before a
    // file is marked as complete.
    for (OwnFile& f : mine_.files) {
      if (facts_.durable) f.file->sync();
      if (!kept_open(f.number)) {
        f.file->close();
      } else if (!facts_.durable) {
        bool is_local = false;  // true if the file is known to be on a file system that only this host uses
        if (!own_caches_)
          attempt([&] { is_local = store_->traits_of(*f.file).coherence == Coherence::local; });
        if (!is_local) publish(*f.file);
      }
    }
    if (right_ && right_->to_write) right_->to_write->end();
    stream_.target().require_nothing_lost();
    if (hosts_.count == 1) return;  // otherwise a metadata writer reads the journals before it removes them
    stream_.target().release_journal();
    for (OwnFile& f : mine_.files) f.journal.reset();
  });
  if (problem) closing.rows.clear();
  return problem;
}

// Returns the file if this process keeps it open during the close, else null. A process with all tasks keeps
// all files open, and the first task of a group its file. They write the open file even if its name was
// removed or replaced.
const OwnFile* Writer::kept_open(int32_t file) const {
  if (alone_) return &mine_.files[static_cast<size_t>(file)];
  const bool is_first = grouped_ && facts_.filenumber == file && mine_.tasks[0].place.local_rank == 0;
  return is_first ? &mine_.files[0] : nullptr;
}

std::shared_ptr<File> Writer::open_segment(const Segment& segment, Access access) const {
  const OwnFile* const kept = kept_open(segment.file);
  return kept ? kept->file : open_with_retries(*store_, name_of(segment.file), access);
}

void Writer::change_file(const Segment& segment,
                         const std::function<void(File&, const format::Header&)>& change, Outlives what) {
  const auto file = open_segment(segment, Access::write);
  const format::Header header = header_of(segment.file, segment.file_tasks, segment.fsblksize);
  if (old()) {  // the table is changed in place and must be valid at every moment
    change(*file, header);
  } else {
    GatheredFile together(file);
    change(together, header);
    together.flush();
  }
  if (facts_.durable)
    file->sync();
  else if (what == Outlives::host)
    publish_or_sync(*file);
  if (!kept_open(segment.file)) file->close();
}

// Marks the appended files as incomplete before the checksums of their tables change. Local.
void Writer::take_pointers_away(std::span<const EndedSegment> segments) {
  for (const EndedSegment& s : segments)
    change_file(s, [&](File& file, const format::Header& h) {
      require_unfinished(file, h.pointer_offset(), old()->pointers[s.number]);
      // Written by one call, because after two writes, a power loss could leave only the second.
      if (s.first == 0 && s.piece > 0) MetadataWriter(file, h).write_pointer({-1, 0});
    });
}

// Completes a file after everything else was written. Local. The first metadata writer of the file calls it.
void Writer::complete_file(EndedSegment& segment) {
  change_file(segment, [&](File& file, const format::Header& h) {
    if (segment.file == 0 && right_ && right_->ownership)
      right_->ownership->require_owned(Ownership::LeaseCheck::handle);
    MetadataWriter(file, h).write_pointer(segment.pointer);
  });
  if (const OwnFile* const kept = kept_open(segment.file)) kept->file->close();
  if (stream_.target().keeps_journal() && segment.may_have_journal)
    remove_journal(*store_, name_of(segment.file), segment.identity, hosts_.count);
  segment.complete = true;
}

// Checks whether overruns have lost bytes. Called after the files are complete, so that all other data can be
// read even if it throws. Collective.
void Writer::look_for_losses(const Closing& closing) {
  std::optional<Error> problem;
  if (!alone_) {  // if alone_, all tasks are in this process
    std::vector<WrittenTask> all;
    for_each_row(closing, [&](size_t i, const RowView&, std::span<const uint32_t> sums) {
      all.push_back(written(i, sums));
    });
    problem = check_neighbours(tasks_of_files(), all, [&](int32_t file) {
      return open_with_retries(*store_, name_of(file), Access::read);
    });
  }
  agree(*comm_, closing.losses ? closing.losses : problem);
}

// Records the progress of this task after a close has failed on some task, so that readers of the unclosed
// file find all bytes that this task has written.
void Writer::report_rows(std::span<const std::byte> row) noexcept {
  if (right_ && right_->lost) return;
  attempt([&] {
    const auto data = store_->open(path(), Access::write);
    if (!own_caches_ || stream_.target().journal_key().first)
      require_same_file(*data, stream_.target().journal_key().identity);
    if (stream_.target().journal_key().may_mark())
      require_unfinished(*data, stream_.target().journal_key().pointer_offset());
    const bool syncs = facts_.durable || own_caches_;
    if (syncs) data->sync();
    for (OwnFile& f : mine_.files)
      if (syncs && f.boundary_blocks) f.boundary_blocks->sync();
    JournalWriter journal(*store_, stream_.target().journal_key(),
                          facts_.durable ? Journaling::durable : Journaling::required);
    const RowView view(row.empty() ? nullptr : row.data());
    for (int64_t b = 0; !view.empty() && b < view.blocks(); ++b)
      journal.report(*data, local().rank(), b, view.size_of(b), b + 1 < view.blocks());
    if (syncs) journal.sync(*data);
    journal.close();
    data->close();
  });
}

}  // namespace sheaf::multifile
