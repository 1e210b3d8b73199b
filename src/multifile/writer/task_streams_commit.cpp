// Checks that a process still owns its files: another program may have taken over the multifile, and files
// may have been removed, replaced or truncated. Also implements commits and the end of the streams, which
// begin with such a check.
#include "multifile/writer/task_streams.hpp"

namespace sheaf::multifile {

void TaskStreams::require_ownership(Ownership::LeaseCheck look) {
  const WriterRights* const rights = set_.rights.get();
  if (rights && rights->lost) std::rethrow_exception(rights->lost);
  const auto problem = attempt([&] {
    if (rights && rights->ownership)
      rights->ownership->require_owned(look);
    else if (rights && rights->to_write)
      rights->to_write->require(look);
    require_files_in_place();
  });
  if (!problem) return;
  if (problem->code() == Code::foreign) made_if_null(set_.rights).lost = std::make_exception_ptr(*problem);
  throw *problem;
}

// Throws if a file of this process was removed, replaced or truncated. To avoid requests to the file system,
// only the first task checks if hosts have separate page caches, or if requests are expensive. Does nothing
// in collective writing, where the collectors have the files.
void TaskStreams::require_files_in_place() const {
  if (set_.collecting) return;
  const bool is_owner = set_.rights && set_.rights->ownership;
  for (size_t f = 0; f < set_.files.size(); ++f) {
    const OwnFile& own = set_.files[f];
    if (!is_owner && (set_.hosts.own_caches || own.file->traits().dear_requests)) continue;
    const FileStatus found = own.file->status();
    if (found.links == 0)
      throw file_error(
          Code::foreign, own.file->path(),
          "was removed or replaced while this program is writing it: what it writes is not found "
          "under that name");
    if (!own.boundary_blocks && !set_.tasks.empty() && set_.tasks[current_].file == f)
      set_.stream->chunks().require_length();
  }
}

void TaskStreams::commit() {
  require_ownership(Ownership::LeaseCheck::handle);
  if (set_.tasks.empty()) return;
  const auto problem = attempt([&] { record_progress(); });
  failed_.require_none();
  if (problem) throw *problem;
}

void TaskStreams::record_progress() {
  if (set_.compressed) commit_frames();
  if (set_.collecting && set_.collecting->writer) {
    set_.stream->flush();
    set_.collecting->writer->flush();
  }
  set_.stream->commit();
  if (unreported_.empty()) return;
  for (size_t f = 0; f < set_.files.size(); ++f) report_parked(f);
  unreported_.clear();
}

// Records the progress of the tasks of a file that were parked since the last commit.
void TaskStreams::report_parked(size_t f) {
  OwnFile& file = set_.files[f];
  const bool is_bound = f == set_.tasks[current_].file;
  const bool syncs = set_.facts.durable || set_.hosts.own_caches;
  if (!is_bound && syncs) set_.stream->target().keep([&] { file.file->sync(); });
  for (size_t i = 0; i < set_.tasks.size(); ++i) {
    if (unreported_[i] == 0 || i == current_ || set_.tasks[i].file != f) continue;
    const int64_t rank = set_.tasks[i].place.local_rank;
    if (is_bound) {
      set_.stream->target().report({rank, set_.blocks[i].count() - 1, set_.blocks[i].high, false});
      continue;
    }
    if (!file.journal)
      file.journal = std::make_unique<JournalWriter>(
          set_.store(), file.key, set_.facts.durable ? Journaling::durable : Journaling::best_effort);
    file.journal->report(*file.file, {rank, set_.blocks[i].count() - 1, set_.blocks[i].high, false});
  }
  JournalWriter* const journal = is_bound ? set_.stream->target().journal() : file.journal.get();
  if (!journal) return;
  journal->confirm(*file.file);
  if (syncs) journal->sync(*file.file);
}

std::optional<Error> TaskStreams::end() {
  auto problem = attempt([&] { failed_.require_none(); });
  attempt(problem, [&] {
    require_ownership(Ownership::LeaseCheck::name);
    for (size_t i = 0; set_.compressed && i < set_.tasks.size(); ++i) {
      select(set_.tasks[i].task);
      set_.compressed->finish();
    }
  });
  if (!set_.collecting) return problem;
  auto unsent = set_.collecting->writer ? set_.collecting->writer->finish() : std::nullopt;
  set_.collecting->writer.reset();
  if (!problem) problem = std::move(unsent);
  return problem;
}

void TaskStreams::park_all() {
  if (const auto handle = set_.stream->release_handle()) handle->close();
  if (!set_.tasks.empty()) {
    park();
    set_.files[set_.tasks[current_].file].journal = set_.stream->target().release_journal();
  }
  for (OwnFile& f : set_.files)
    if (f.handle) f.handle->close();
}

void TaskStreams::require_kept(size_t index, std::span<const uint32_t> sums) const {
  File& file = *set_.files[set_.tasks[index].file].file;
  require_tails(written(index), file.path());
  overruns_.check(file, written(index, sums));
}

}  // namespace sheaf::multifile
