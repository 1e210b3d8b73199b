#include "multifile/journal/journaled_file.hpp"

#include "multifile/journal/constants.hpp"

namespace sheaf::multifile {

JournalWriter* JournaledFile::make_journal() {
  if (!keeps_journal()) return nullptr;
  auto& journal = rare().journal;
  if (!journal)
    journal = std::make_unique<JournalWriter>(*store_, key_,
                                              durable_ ? Journaling::durable : Journaling::best_effort);
  return journal.get();
}

void JournaledFile::report(const ChunkReport& report) {
  if (JournalWriter* const to = make_journal(); to && !rare_->lost) to->report(*file_, report);
}

void JournaledFile::sync_before_report() {
  if (durable_ && make_journal() && !journal()->deferred()) sync();
}

void JournaledFile::confirm_many(int64_t chunk_size) {
  if (!records_wait() || journal()->deferred() ||
      journal()->waiting() * chunk_size < journal_constants::recorded_at_once)
    return;
  sync();
  journal()->confirm(*file_);
}

void JournaledFile::commit(const ChunkReport& last) {
  require_nothing_lost();
  const bool syncs = durable_ || records_wait();
  if (syncs) sync();
  report(last);
  if (!journal()) return;
  journal()->confirm(*file_);
  if (syncs) journal()->sync(*file_);
}

void JournaledFile::require_nothing_lost() const {
  if (!rare_ || !rare_->lost) return;
  const Error& e = *rare_->lost;
  throw Error(
      e.code(),
      "data of '" + file_->path() + "' may be lost: an earlier write or flush has failed: " + e.what(),
      e.errno_value());
}

}  // namespace sheaf::multifile
