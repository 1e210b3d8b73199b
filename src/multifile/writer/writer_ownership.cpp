// Checks that a writer still owns its files: another program may have taken over the multifile, and files may
// have been removed, replaced or truncated. Also implements the commits, which begin with such a check.
#include "comm/agree.hpp"
#include "multifile/writer/writer.hpp"

namespace sheaf::multifile {

Writer::Right& Writer::right() {
  if (!right_) right_ = std::make_unique<Right>();
  return *right_;
}

void Writer::require_ownership(Ownership::LeaseCheck look) {
  if (right_ && right_->lost) std::rethrow_exception(right_->lost);
  const auto problem = attempt([&] {
    if (right_ && right_->ownership)
      right_->ownership->require_owned(look);
    else if (right_ && right_->to_write)
      right_->to_write->require(look);
    require_files_in_place();
  });
  if (!problem) return;
  if (problem->code() == Code::foreign) right().lost = std::make_exception_ptr(*problem);
  throw *problem;
}

// Throws if a file of this process was removed, replaced or truncated. To avoid requests to the file system,
// only the first task checks if hosts have separate page caches, or if requests are expensive. Does nothing
// in collective writing, where the collectors have the files.
void Writer::require_files_in_place() {
  if (collecting_) return;
  for (size_t f = 0; f < mine_.files.size(); ++f) {
    const OwnFile& own = mine_.files[f];
    if (!(right_ && right_->ownership) && (own_caches_ || own.file->traits().dear_requests)) continue;
    const FileStatus found = own.file->status();
    if (found.links == 0)
      throw file_error(
          Code::foreign, own.file->path(),
          "was removed or replaced while this program is writing it: what it writes is not found "
          "under that name");
    if (!own.boundary_blocks && !mine_.tasks.empty() && mine_.tasks[current_].file == f)
      stream_.chunks().require_length();
  }
}

// Throws unless `file`, opened by its name, has this identity. If `identity` is zeros, which means none,
// accepts any file.
void Writer::require_same_file(File& file, const format::Identity& identity) const {
  if (identity == format::Identity{}) return;
  const auto extension = MetadataReader(file).extension();
  if (extension && extension->identity == identity) return;
  throw file_error(Code::foreign, file.path(),
                   "was replaced while this program is writing it: it belongs to another open");
}

void Writer::commit() {
  require_ownership(Ownership::LeaseCheck::handle);
  if (mine_.tasks.empty()) return;
  const auto problem = attempt([&] { record_progress(); });
  failed_.require_none();
  if (problem) throw *problem;
}

void Writer::record_progress() {
  if (compressed_) commit_frames();
  if (collective()) {
    stream_.flush();
    collective()->flush();
  }
  stream_.commit();
  if (unreported_.empty()) return;
  const size_t own_file = mine_.tasks[current_].file;
  const bool syncs = facts_.durable || own_caches_;
  for (size_t f = 0; f < mine_.files.size(); ++f) {
    OwnFile& file = mine_.files[f];
    if (f != own_file && syncs) stream_.target().keep([&] { file.file->sync(); });
    for (size_t i = 0; i < mine_.tasks.size(); ++i) {
      if (unreported_[i] == 0 || i == current_ || mine_.tasks[i].file != f) continue;
      const int64_t rank = mine_.tasks[i].place.local_rank;
      if (f == own_file) {
        stream_.target().report({rank, blocks_[i].count() - 1, blocks_[i].high, false});
        continue;
      }
      if (!file.journal)
        file.journal = std::make_unique<JournalWriter>(
            *store_, file.key, facts_.durable ? Journaling::durable : Journaling::best_effort);
      file.journal->report(*file.file, rank, blocks_[i].count() - 1, blocks_[i].high, false);
    }
    JournalWriter* const journal = f == own_file ? stream_.target().journal() : file.journal.get();
    if (!journal) continue;
    journal->confirm(*file.file);
    if (syncs) journal->sync(*file.file);
  }
  unreported_.clear();
}

}  // namespace sheaf::multifile
