#include "multifile/writer/close_protocol.hpp"

#include <algorithm>

#include "comm/reduce.hpp"
#include "multifile/buddy/buddy.hpp"
#include "multifile/writer/closing_steps.hpp"
#include "multifile/writer/parallel_layout.hpp"
#include "storage/retries.hpp"
#include "storage/store.hpp"

namespace sheaf::multifile {

namespace {

// Records the progress of the only task of this process after a close has failed on some task, so that
// readers of the unclosed file find all bytes that this task has written. `row` is its encoded row; empty if
// this task has failed, and then nothing is recorded. Throws.
void record_row(const OpenedSet& set, std::span<const std::byte> row) {
  const JournalKey& key = set.stream->target().journal_key();
  const auto data = set.store().open(set.stream->target().file().path(), Access::write);
  if (!set.hosts.own_caches || key.first) require_same_file(*data, key.identity);
  if (key.may_mark()) require_unfinished(*data, key.pointer_offset());
  const bool syncs = set.facts.durable || set.hosts.own_caches;
  if (syncs) data->sync();
  if (syncs && set.files[0].boundary_blocks) set.files[0].boundary_blocks->sync();
  JournalWriter journal(set.store(), key, set.facts.durable ? Journaling::durable : Journaling::required);
  const RowView view(row.empty() ? nullptr : row.data());
  for (int64_t b = 0; !view.empty() && b < view.blocks(); ++b)
    journal.report(*data, {set.local().rank(), b, view.size_of(b), b + 1 < view.blocks()});
  if (syncs) journal.sync(*data);
  journal.close();
  data->close();
}

}  // namespace

// The close of one multifile. Its steps are collective unless they say otherwise.
class CloseProtocol {
 public:
  explicit CloseProtocol(TaskStreams& streams) : streams_(streams), set_(streams.set_) {}

  void close() {
    // The close will fail, so commit: readers of the unclosed files then find all accepted bytes.
    if (streams_.failed_.any()) attempt([&] { streams_.commit(); });
    try {
      run();
    } catch (...) {
      WriteStream& stream = *set_.stream;
      attempt([&] {
        if (StdioHandle* const handle = stream.chunks().handle()) handle->close();
      });
      const bool is_owner = !set_.rights || !set_.rights->lost;
      if (!set_.placed && stream.target().keeps_journal() && !set_.collecting && is_owner)
        attempt([&] { record_row(set_, rows_.rows); });
      throw;
    }
  }

 private:
  void run() {
    if (!set_.placed) by_rank_.emplace(set_.local(), slicing_of_group(set_));
    slices_ = by_rank_ ? &*by_rank_ : set_.placed->rows.get();
    const std::vector<Segment> own = by_rank_ ? own_segment(set_, *slices_) : std::vector<Segment>();
    const std::span<const Segment> segments = by_rank_ ? own : set_.placed->segments;

    // When appending, another program may have taken over the multifile. This program must then not write the
    // files.
    if (set_.old())
      agree(*set_.comm, attempt([&] { streams_.require_ownership(Ownership::LeaseCheck::name); }));
    end_streams();
    const BlockTable table(collect_rows(), *slices_, set_.old());
    SliceSums sums = table.sums();
    segments_ = find_ends(set_, *slices_, segments, table, sums, problem_);
    prepare_files();
    const ClosingLead lead = write_tables_and_agree(table, sums);
    if (lead.has_tasks() && set_.terms.mapping_entries >= 0 && !set_.terms.is_blockwise) {
      step([&] { write_known_mapping(set_, lead); });
      agree_on_step();
    }
    complete_files(lead);
    for (const OwnFile& f : set_.files)
      if (f.boundary_blocks) f.boundary_blocks->remove();
    if (const auto& collecting = set_.collecting; collecting && collecting->buddies > 0) {
      set_.comm->barrier();  // each file must be complete before other tasks read it
      write_buddies(set_.store(), *set_.comm, set_.local().rank() == 0 ? set_.facts.filenumber : -1,
                    streams_.path(), set_.path, collecting->buddies);
    }
    if (lead.overran) look_for_losses();
  }

  // Writes all bytes to the files or boundary files, and computes the rows of the tasks. Collective in
  // collective writing.
  void end_streams() {
    problem_ = streams_.end();
    if (problem_) return;
    step([&] {
      streams_.park_all();
      append_rows(max_sums_in_row(slices_->largest()));
      close_files();
      if (set_.rights && set_.rights->to_write) set_.rights->to_write->end();
      set_.stream->target().require_nothing_lost();
      // If several hosts write a file, a metadata writer reads the journals before it removes them.
      if (set_.hosts.count > 1)
        for (OwnFile& f : set_.files) f.journal.reset();
    });
    if (problem_) rows_.rows.clear();
  }

  void append_rows(int64_t max_sums) {
    for (const size_t i : set_.row_order()) {
      const OwnTask& t = set_.tasks[i];
      const OwnFile& f = set_.files[t.file];
      // The journal may exist if this process has written records or announced boundary blocks, or if the
      // metadata writer of a file with placed tasks has created it.
      const bool may_have_journal = (set_.placed && set_.hosts.unit > 0) || f.journal ||
                                    (f.boundary_blocks && f.boundary_blocks->in_use());
      std::vector<uint32_t> sums = set_.blocks[i].take_sums(*f.file, t.geometry);
      append_row(rows_.rows, t.row, set_.blocks[i], may_have_journal, sums, max_sums);
      if (!rows_.losses) rows_.losses = attempt([&] { streams_.require_kept(i, sums); });
      if (rows_.sums.empty()) {
        rows_.sums = std::move(sums);
      } else {
        rows_.sums.insert(rows_.sums.end(), sums.begin(), sums.end());
      }
    }
  }

  // Makes the bytes of the files survive, and closes the files that the close does not use. The operating
  // system may report write errors only when a file is closed. They must be known before a file is marked as
  // complete.
  void close_files() {
    for (OwnFile& f : set_.files) {
      if (set_.facts.durable) f.file->sync();
      // Other tasks merge these bytes in the close, so they must be in the file by then.
      if (set_.deferred() && f.boundary_blocks && f.boundary_blocks->in_use()) f.boundary_blocks->sync();
      if (!kept_open(set_, f.number)) {
        f.file->close();
      } else if (!set_.facts.durable && !set_.deferred()) {
        bool is_local = false;  // true if the file is known to be on a file system that only this host uses
        if (!set_.hosts.own_caches) attempt([&] { is_local = set_.store().traits_of(*f.file).is_local(); });
        if (!is_local) publish_by_close(*f.file);
      }
    }
  }

  // Sends the rows to the metadata writers. A process that has failed sends none. Collective.
  Gathered collect_rows() {
    std::span<const std::byte> rows = rows_.rows;
    return slices_->collect_pieces([&](int metadata_writer) {
      size_t end = 0;
      while (end < rows.size() && slices_->metadata_writer_of(RowView(&rows[end]).row()) == metadata_writer)
        end += RowView(&rows[end]).bytes();
      const auto piece = rows.first(end);
      rows = rows.subspan(end);
      return piece;
    });
  }

  // Prepares the files for their new tables: merges boundary blocks, and marks appended files as incomplete
  // before the checksums of their tables change. Collective.
  void prepare_files() {
    const TableSlice* const old = set_.old();
    if (set_.hosts.unit > 0) {
      if (old) agree_on_step();  // its table does not show which tasks have failed
      const auto lost = merge_own_boundary_blocks(set_, segments_);
      if (!problem_) problem_ = lost;
    }
    if (!old) return;
    agree_on_step();
    step([&] {
      for (const EndedSegment& s : segments_)
        change_file(set_, s, [&](File& file, const format::Header& h) {
          require_unfinished(file, h.pointer_offset(), old->pointers[s.number]);
          // Written by one call, because after two writes, a power loss could leave only the second.
          if (s.first == 0 && s.piece > 0) MetadataWriter(file, h).write_pointer({-1, 0});
        });
    });
    agree_on_step();
  }

  // Writes the tables, and agrees on the values of file 0. Collective.
  ClosingLead write_tables_and_agree(const BlockTable& table, SliceSums& sums) {
    const bool sums_follow = sums.in_rounds() > 0;
    SumRounds rounds;
    if (!sums_follow)
      step([&] {
        // A file with one metadata writer needs no agreement of its own. Its metadata writer sees from the
        // rows that the bytes of every task are written, and completes it at once.
        if (!write_tables(set_, segments_, table, sums, rounds)) return;
        for (EndedSegment& s : segments_)
          if (s.file != 0 && s.count == s.file_tasks && !set_.old() && set_.hosts.unit == 0) complete(s);
      });
    ClosingLead lead = own_lead();
    lead.sums_follow = sums_follow;
    agree(*set_.comm, problem_, lead);
    if (!lead.sums_follow) return lead;
    rounds = plan_rounds(set_, rows_, *slices_, table, sums, problem_);
    if (sums_follow) step([&] { write_tables(set_, segments_, table, sums, rounds); });
    rounds.finish();
    agree_on_step();
    return lead;
  }

  // Returns the values that this process knows. Local.
  ClosingLead own_lead() const {
    ClosingLead lead;
    for (const EndedSegment& s : segments_)
      if (s.first == 0 && s.file == 0)
        lead = {.varheader = s.pointer.varheader,
                .maxblocks = s.pointer.maxblocks,
                .of_file = s.file_tasks,
                .fsblksize = s.fsblksize,
                .sums = s.sums,
                .piece = s.piece,
                .process = set_.comm->rank()};
    lead.incomplete = std::ranges::any_of(
        segments_, [](const EndedSegment& s) { return s.first == 0 && s.file > 0 && !s.complete; });
    lead.overran =
        std::ranges::any_of(set_.blocks, [](const TaskBlocks& b) { return !b.overruns().empty(); });
    return lead;
  }

  // Completes the files after everything else was written. Collective.
  void complete_files(const ClosingLead& lead) {
    const auto complete_those = [&](bool first) {
      for (EndedSegment& s : segments_)
        if (s.first == 0 && !s.complete && (s.file == 0) == first) step([&] { complete(s); });
    };
    complete_those(false);
    if (lead.incomplete) agree_on_step();
    complete_those(true);
    if (lead.has_tasks()) agree_with(*set_.comm, problem_, static_cast<int>(lead.process));
  }

  // Completes a file, or leaves that to the caller of the close. Local. The first metadata writer of the file
  // calls it.
  void complete(EndedSegment& segment) {
    if (set_.deferred()) return defer(segment);
    change_file(set_, segment, [&](File& file, const format::Header& h) {
      if (segment.file == 0 && set_.rights && set_.rights->ownership)
        set_.rights->ownership->require_owned(Ownership::LeaseCheck::handle);
      MetadataWriter(file, h).write_pointer(segment.pointer);
    });
    if (const OwnFile* const kept = kept_open(set_, segment.file)) kept->file->close();
    if (set_.stream->target().keeps_journal() && segment.may_have_journal)
      remove_journal(set_.store(), set_.name_of(segment.file), segment.identity, set_.hosts.count);
    segment.complete = true;
  }

  void defer(EndedSegment& segment) {
    set_.deferred()->marks.push_back(mark_of(set_, segment));
    set_.deferred()->identity = segment.identity;
    if (const OwnFile* const kept = kept_open(set_, segment.file)) kept->file->close();
    segment.complete = true;
  }

  // Checks whether overruns have lost bytes. Called after the files are complete, so that all other data can
  // be read even if it throws. Collective.
  void look_for_losses() {
    std::optional<Error> lost;
    if (set_.local().size() > 1) {  // otherwise no other process has written the files
      std::vector<WrittenTask> all;
      rows_.for_each(set_, [&](size_t i, const RowView&, std::span<const uint32_t> sums) {
        all.push_back(streams_.written(i, sums));
      });
      lost = check_neighbours(set_.local(), all, [&](int32_t file) {
        return open_with_retries(set_.store(), set_.name_of(file), Access::read);
      });
    }
    agree(*set_.comm, rows_.losses ? rows_.losses : lost);
  }

  template <class Act>
  void step(Act&& act) {
    if (!problem_) problem_ = attempt(act);
  }
  void agree_on_step() { agree(*set_.comm, problem_); }

  TaskStreams& streams_;
  OpenedSet& set_;
  ClosingRows rows_;
  std::optional<MetadataPartition> by_rank_;  // unless the set has PlacedTables
  MetadataPartition* slices_ = nullptr;
  std::vector<EndedSegment> segments_;  // segments in the slice of this process
  std::optional<Error> problem_;        // first error of this process
};

void close_set(TaskStreams& streams) { CloseProtocol(streams).close(); }

}  // namespace sheaf::multifile
