#include "multifile/journal/journal_writer.hpp"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "base/assert.hpp"
#include "base/warnings.hpp"
#include "comm/agree.hpp"
#include "multifile/journal/constants.hpp"
#include "storage/retries.hpp"

namespace sheaf::multifile {

// Opens or creates the journal. Returns false if the file has no identity, which ties records to it.
bool JournalWriter::open(File& data) {
  if (!key_.has_identity()) return false;
  if (slots_.is_open()) return true;
  if (!marked_ && key_.may_mark()) require_unfinished(data);
  slots_.open(store_, data.path(), key_.header());
  return true;
}

namespace {

// Returns true if the file system is full. Writes of data would soon fail as well; the user can free space
// and repeat the call.
bool is_full(const Error& error) { return error.errno_value() == ENOSPC || error.errno_value() == EDQUOT; }

// Returns true if later attempts to create the journal would fail as well.
bool admits_no_journal(const Error& failed) {
  static constexpr Code codes[] = {Code::permission, Code::foreign, Code::unsupported, Code::not_found};
  static constexpr int errors[] = {EISDIR, EEXIST, ENAMETOOLONG, ELOOP, ENXIO};
  return std::ranges::find(codes, failed.code()) != std::end(codes) ||
         std::ranges::find(errors, failed.errno_value()) != std::end(errors);
}

}  // namespace

// Runs `record` on the open journal after checking that it was not removed. Rethrows its error, unless no
// journal is possible and the writer may continue without one. Does nothing for a file without identity.
template <class Record>
void JournalWriter::record_in_journal(File& data, Record&& record) {
  take_back_withdrawn();
  if (finished_) throw *finished_;
  // During an append, a complete file counts as unclosed from the first record on, even if no journal can be
  // created. So the watch is called here.
  if (key_.watch && !slots_.is_open() && !given_up_ && key_.has_identity())
    key_.watch->before_writing(std::numeric_limits<int64_t>::max());
  const auto record_if_open = [&] {
    if (given_up_ || !open(data)) return;
    require_journal(data);
    record();
  };
  const auto failed = attempt(record_if_open);
  if (finished_) throw *finished_;
  if (failed) give_up(data, *failed);
  if (!given_up_ || !key_.may_mark()) return;
  // The mark is set at every call, because tasks that have a journal overwrite it.
  attempt([&] { with_file_itself(data, [&](File& file) { mark(file, format::journal_gap_mark); }); });
  if (finished_) throw *finished_;
}

// Continues without a journal after the error `why`. Throws if that is not allowed.
void JournalWriter::give_up(File& data, const Error& why) {
  if (how_ != Journaling::best_effort || key_.required || slots_.was_opened() || !admits_no_journal(why))
    throw Error(why.code(),
                std::string(why.what()) + " (the journal of '" + data.path() +
                    "', without which nothing can be found if the program dies; open mode journal=off writes "
                    "without)",
                why.errno_value());
  given_up_ = true;
  if (!key_.may_mark()) note_journal_gap(store_, data.path());
  add_warning("'" + data.path() + "' is written on without a journal (" + why.what() +
              "): should the program die, what this task writes from now on is not found");
}

// Throws if the journal was removed. A program that completes a file removes its journal afterwards.
void JournalWriter::require_journal(File& data) {
  if (!slots_.is_removed()) return;
  if (key_.may_mark()) {
    with_file_itself(data, [&](File& file) { require_unfinished(file); });
  } else {
    // Opens the file by name, because `data` may refer to an earlier file with that name.
    require_unfinished(*open_with_retries(store_, data.path(), Access::read));
  }
  throw file_error(Code::foreign, format::journal_name(data.path()),
                   "was removed while the program is writing");
}

void JournalWriter::require_unfinished(File& data) {
  auto problem = attempt([&] { multifile::require_unfinished(data, key_.pointer_offset()); });
  if (!problem) return;
  if (problem->code() == Code::foreign) finished_ = problem;
  throw *problem;
}

void JournalWriter::report(File& data, const ChunkReport& report) {
  SHEAF_ASSERT(report.task >= 0 && report.block >= 0 && report.bytes >= 0);
  if (!held_.empty() && held_.back().task == report.task && held_.back().block == report.block)
    held_.pop_back();
  held_.push_back(report);
  if (kept_until_synced() || (deferred() && (how_ == Journaling::durable || !holder_()))) return;
  const auto failed = attempt([&] { confirm(data); });
  // The record of a finished chunk waits for a later call.
  const bool waits = report.finished && how_ == Journaling::best_effort && !finished_;
  if (failed && (!waits || is_full(*failed))) throw *failed;
}

// Sets the mark `with` in META1. A reader that finds a marked file without a journal knows that the journal
// was lost.
void JournalWriter::mark(File& data, const std::array<std::byte, 4>& with) {
  const bool gap = with == format::journal_gap_mark;
  if (!key_.may_mark()) marked_ = true;
  if (marked_ && !gap) return;
  require_unfinished(data);
  std::array<std::byte, 4> found{};
  data.read_at(found, key_.pointer_offset());
  if (found != with && found != format::journal_gap_mark) data.write_at(with, key_.pointer_offset());
  marked_ = true;
}

// Runs `act` on the file itself. If `data` holds bytes for a collector, it would also hold the mark.
template <class Act>
void JournalWriter::with_file_itself(File& data, Act&& act) {
  if (File* const direct = deferred() ? holder_() : &data) return act(*direct);
  const std::shared_ptr<File> own = open_with_retries(store_, data.path(), Access::write);
  act(*own);
  own->close();
}

void JournalWriter::report_all(File& data, int64_t first, std::span<const int64_t> counts,
                               const std::function<int64_t(size_t t, int64_t block)>& size_of) {
  marked_ = true;  // no mark: a complete file keeps its pointer
  if (open(data)) slots_.write_all(first, counts, size_of);
}

void JournalWriter::withdraw(int64_t task, int64_t first, int64_t last, int64_t bytes) {
  std::erase_if(held_, [&](const ChunkReport& r) { return r.task == task && r.block >= first; });
  if (!slots_.is_open() || last <= first) return;
  if (withdrawn_ && withdrawn_->task == task) {  // an earlier withdrawal has failed; repeat both
    last = std::max(last, withdrawn_->last);
    if (withdrawn_->first < first) {
      first = withdrawn_->first;
      bytes = withdrawn_->bytes;
    }
  }
  withdrawn_ = {task, first, last, bytes};
  attempt([&] { take_back_withdrawn(); });
}

void JournalWriter::take_back_withdrawn() {
  if (!withdrawn_) return;
  const auto& [task, first, last, bytes] = *withdrawn_;
  for (int64_t block = last - 1; block > first; --block) slots_.withdraw({task, block, -1, false});
  slots_.withdraw({task, first, bytes, false});
  withdrawn_.reset();
}

void JournalWriter::confirm(File& data) {
  return_in_flight();
  if (held_.empty()) return;
  record_in_journal(data, [&] {
    for (const ChunkReport& r : held_) slots_.write(r);
    if (how_ != Journaling::durable)
      with_file_itself(data, [&](File& file) { mark(file, format::journal_mark); });
  });
  held_.clear();
}

std::vector<ChunkReport> JournalWriter::send(int64_t most) {
  SHEAF_ASSERT(most >= 0);
  std::erase_if(held_, [&](const ChunkReport& r) {
    const bool goes = r.finished && std::ssize(in_flight_) < most;
    if (goes) in_flight_.push_back(r);
    return goes;
  });
  return in_flight_;
}

void JournalWriter::require_unfinished_file(File& data) {
  if (finished_) throw *finished_;
  if (!slots_.is_open() || given_up_) return;
  attempt([&] { require_journal(data); });
  if (finished_) throw *finished_;
}

void JournalWriter::record(File& data, std::vector<ChunkReport> reports) {
  if (reports.empty()) return take_back_withdrawn();
  SHEAF_ASSERT(std::ranges::all_of(reports, &ChunkReport::finished));
  try {
    record_in_journal(data, [&] {
      slots_.write_side_by_side(reports);
      mark(data, format::journal_mark);
    });
  } catch (...) {
    held_.insert(held_.end(), reports.begin(), reports.end());
    throw;
  }
}

void JournalWriter::sync(File& data) {
  if (slots_.sync() && !marked_)
    with_file_itself(data, [&](File& file) { mark(file, format::journal_mark); });
}

}  // namespace sheaf::multifile
