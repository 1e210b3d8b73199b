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
  if (file_) return true;
  if (!marked_ && key_.may_mark()) require_unfinished(data);
  const format::JournalHeader header = key_.header();
  bool changed = false;
  auto file = open_journal(store_, data.path(), header, changed);
  seed_ = format::journal_seed(header);
  counts_names_ = file->status().links > 0;
  dirty_ = changed;
  file_ = std::move(file);
  made_ = true;
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

bool JournalWriter::may_go_on_without(const Error& failed) const {
  return how_ == Journaling::best_effort && !key_.required && !made_ && admits_no_journal(failed);
}

// Runs `record`. Rethrows its error, unless no journal is possible and the writer may continue without one.
template <class Record>
void JournalWriter::keep(File& data, Record&& record) {
  if (finished_) throw *finished_;
  // During an append, a complete file counts as unclosed from the first record on, even if no journal can be
  // created. So the watch is called here.
  if (key_.watch && !file_ && !given_up_ && key_.has_identity())
    key_.watch->before_writing(std::numeric_limits<int64_t>::max());
  const auto failed = given_up_ ? std::nullopt : attempt(record);
  if (finished_) throw *finished_;
  if (failed && !may_go_on_without(*failed))
    throw Error(failed->code(),
                std::string(failed->what()) + " (the journal of '" + data.path() +
                    "', without which nothing can be found if the program dies; open mode journal=off writes "
                    "without)",
                failed->errno_value());
  if (failed) give_up(data, *failed);
  if (!given_up_ || !key_.may_mark()) return;
  // The mark is set at every call, because tasks that have a journal overwrite it.
  attempt([&] { with_file_itself(data, [&](File& file) { mark(file, format::journal_gap_mark); }); });
  if (finished_) throw *finished_;
}

// Runs keep() on the open journal after checking that it was not removed. Does nothing for a file without
// identity.
template <class Record>
void JournalWriter::record_in_journal(File& data, Record&& record) {
  take_back_withdrawn();
  keep(data, [&] {
    if (!open(data)) return;
    require_journal(data);
    record();
  });
}

void JournalWriter::give_up(File& data, const Error& why) {
  given_up_ = true;
  if (!key_.may_mark()) note_journal_gap(store_, data.path());
  add_warning("'" + data.path() + "' is written on without a journal (" + why.what() +
              "): should the program die, what this task writes from now on is not found");
}

// Throws if the journal was removed. A program that completes a file removes its journal afterwards.
void JournalWriter::require_journal(File& data) {
  if (!counts_names_ || file_->status().links > 0) return;
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

void JournalWriter::report(File& data, int64_t task, int64_t block, int64_t bytes, bool finished) {
  SHEAF_ASSERT(task >= 0 && block >= 0 && bytes >= 0);
  hold({task, block, bytes, finished});
  if (kept_until_synced() || (deferred() && (how_ == Journaling::durable || !holder_()))) return;
  const auto failed = attempt([&] { confirm(data); });
  // The record of a finished chunk waits for a later call.
  const bool waits = finished && how_ == Journaling::best_effort && !finished_;
  if (failed && (!waits || is_full(*failed))) throw *failed;
}

void JournalWriter::hold(const ChunkReport& report) {
  if (!held_.empty() && held_.back().task == report.task && held_.back().block == report.block)
    held_.pop_back();
  held_.push_back(report);
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

namespace {

bool says_the_same(const std::optional<format::JournalRecord>& last, const JournalWriter::ChunkReport& r) {
  return last && last->bytes == r.bytes && last->finished == r.finished;
}

}  // namespace

void JournalWriter::write(const ChunkReport& wanted) {
  SHEAF_ASSERT(file_ && wanted.task >= 0 && wanted.task < key_.ntasks && wanted.block >= 0);
  const int64_t slot = format::slot_number(key_.ntasks, wanted.block, wanted.task);
  if (slot != slot_) {
    std::array<std::byte, format::journal_slot_size> found{};
    file_->read_at(found, format::slot_offset(slot));
    last_ = format::decode_slot(found, seed_, slot);
    slot_ = slot;
  }
  ChunkReport r = wanted;
  if (withdrawn_) {
    // Only existing records are withdrawn. What replaces them must not cover more bytes than they did: the
    // others may be unsynced, or in the memory of this task.
    if (!last_ || (!last_->finished && r.bytes >= 0)) return;
    r.bytes = std::min(r.bytes, last_->bytes);
  }
  if (says_the_same(last_, r)) return;
  const auto record = format::next_record(last_, r.bytes, r.finished, seed_, slot);
  // The valid record stays until the new one is complete.
  SHEAF_ASSERT(!last_ || format::half_offset(record.sequence) != format::half_offset(last_->sequence));
  slot_ = -1;
  file_->write_at(format::encode(record, seed_, slot),
                  format::slot_offset(slot) + format::half_offset(record.sequence));
  slot_ = slot;
  last_ = record;
  dirty_ = true;
}

void JournalWriter::report_all(File& data, int64_t first, std::span<const int64_t> counts,
                               const std::function<int64_t(size_t t, int64_t block)>& size_of) {
  using journal_constants::tasks_at_once;
  marked_ = true;  // no mark: a complete file keeps its pointer
  if (!open(data)) return;
  std::vector<std::byte> slots;
  for (size_t begin = 0; begin < counts.size(); begin += tasks_at_once) {
    const auto some = counts.subspan(begin, std::min(tasks_at_once, counts.size() - begin));
    for (int64_t block = 0; block < std::ranges::max(some); ++block) {
      slots.assign(some.size() * format::journal_slot_size, std::byte{});
      const int64_t slot = format::slot_number(key_.ntasks, block, first + static_cast<int64_t>(begin));
      for (size_t t = 0; t < some.size(); ++t) {
        if (block >= some[t]) continue;
        const int64_t own = slot + static_cast<int64_t>(t);
        const auto record =
            format::next_record({}, size_of(begin + t, block), block + 1 < some[t], seed_, own);
        std::ranges::copy(format::encode(record, seed_, own),
                          slots.begin() + static_cast<ptrdiff_t>(t * format::journal_slot_size) +
                              format::half_offset(record.sequence));
      }
      file_->write_at(slots, format::slot_offset(slot));
    }
  }
  dirty_ = true;
}

void JournalWriter::withdraw(int64_t task, int64_t first, int64_t last, int64_t bytes) {
  std::erase_if(held_, [&](const ChunkReport& r) { return r.task == task && r.block >= first; });
  if (!file_ || last <= first) return;
  withdrawn_ = {task, first, bytes, false};
  withdrawn_end_ = last;
  attempt([&] { take_back(); });
}

void JournalWriter::take_back() {
  SHEAF_ASSERT(withdrawn_ && withdrawn_end_ > withdrawn_->block);
  for (int64_t block = withdrawn_end_ - 1; block > withdrawn_->block; --block)
    write({withdrawn_->task, block, -1, false});
  write(*withdrawn_);
  withdrawn_.reset();
}

void JournalWriter::confirm(File& data) {
  return_underway();
  if (held_.empty()) return;
  record_in_journal(data, [&] {
    for (const ChunkReport& r : held_) write(r);
    if (how_ != Journaling::durable)
      with_file_itself(data, [&](File& file) { mark(file, format::journal_mark); });
  });
  held_.clear();
}

std::vector<JournalWriter::ChunkReport> JournalWriter::send(int64_t most) {
  SHEAF_ASSERT(most >= 0);
  std::erase_if(held_, [&](const ChunkReport& r) {
    const bool goes = r.finished && std::ssize(underway_) < most;
    if (goes) underway_.push_back(r);
    return goes;
  });
  return underway_;
}

void JournalWriter::require_unfinished_file(File& data) {
  if (finished_) throw *finished_;
  if (!file_ || given_up_) return;
  attempt([&] { require_journal(data); });
  if (finished_) throw *finished_;
}

void JournalWriter::record(File& data, std::vector<ChunkReport> reports) {
  if (reports.empty()) return take_back_withdrawn();
  SHEAF_ASSERT(std::ranges::all_of(reports, &ChunkReport::finished));
  try {
    record_in_journal(data, [&] {
      write_side_by_side(reports);
      mark(data, format::journal_mark);
    });
  } catch (...) {
    held_.insert(held_.end(), reports.begin(), reports.end());
    throw;
  }
}

// Writes adjacent slots together, including the halves that stay unchanged. This is safe because the tasks of
// these finished chunks write no more records to the slots.
void JournalWriter::write_side_by_side(std::vector<ChunkReport>& reports) {
  const auto slot_of = [&](const ChunkReport& r) {
    return format::slot_number(key_.ntasks, r.block, r.task);
  };
  std::ranges::sort(reports, {}, slot_of);
  slot_ = -1;
  std::vector<std::byte> slots;
  for (size_t begin = 0, end = 0; begin < reports.size(); begin = end) {
    const int64_t first = slot_of(reports[begin]);
    for (end = begin + 1;
         end < reports.size() && slot_of(reports[end]) == first + static_cast<int64_t>(end - begin);)
      ++end;
    slots.assign((end - begin) * format::journal_slot_size, std::byte{});
    file_->read_at(slots, format::slot_offset(first));
    bool changes = false;
    for (size_t i = 0; i < end - begin; ++i) {
      const auto slot = std::span(slots).subspan(i * format::journal_slot_size, format::journal_slot_size);
      const int64_t number = first + static_cast<int64_t>(i);
      const ChunkReport& r = reports[begin + i];
      const auto last = format::decode_slot(slot.first<format::journal_slot_size>(), seed_, number);
      if (says_the_same(last, r)) continue;
      const auto record = format::next_record(last, r.bytes, r.finished, seed_, number);
      changes = true;
      std::ranges::copy(format::encode(record, seed_, number),
                        slot.begin() + format::half_offset(record.sequence));
    }
    if (changes) file_->write_at(slots, format::slot_offset(first));
  }
}

void JournalWriter::sync(File& data) {
  if (unsynced_) throw *unsynced_;
  if (!dirty_ || given_up_) return;
  unsynced_ = attempt([&] { file_->sync(); });
  if (unsynced_) throw *unsynced_;
  dirty_ = false;
  if (!marked_) with_file_itself(data, [&](File& file) { mark(file, format::journal_mark); });
}

}  // namespace sheaf::multifile
