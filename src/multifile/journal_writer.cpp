#include "multifile/journal_writer.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "comm/agree.hpp"
#include "layout/chunk_layout.hpp"

namespace sheaf {

using format::JournalRecord;

// False if the file has no identity that would tie records to it.
bool JournalWriter::open(File& data) {
  if (file_ || off_) return !off_;
  std::array<std::byte, format::fixed_size> head;
  const auto bytes = std::span(head).first(data.read_at(head, 0));
  const format::Header h = format::decode_header(bytes, data.path());
  const auto extension = format::decode_extension(bytes, data.path());
  if (!extension) {
    off_ = true;
    return false;
  }
  // A complete file that is appended to counts as unclosed from its first record on.
  data.announce(std::numeric_limits<int64_t>::max());
  header_ = {extension->identity, h.ntasks, h.nfiles, h.filenumber, h.fsblksize,
             layout::data_start(h.ntasks, h.fsblksize)};
  seed_ = format::journal_seed(header_);
  pointer_offset_ = h.pointer_offset();
  const std::string name = format::journal_name(data.path());
  std::shared_ptr<File> file;
  try {
    file = store_.open(name, Access::create);
  } catch (const Error& e) {
    throw Error(e.code(), std::string(e.what()) + " (the journal of '" + data.path() +
                              "'; open mode journal=off writes without, and then a program that is killed loses the file)",
                e.errno_value());
  }
  const auto wanted = format::encode(header_);
  std::array<std::byte, format::journal_header_size> found;
  if (file->read_at(found, 0) != found.size() || found != wanted) {
    file->write_at(wanted, 0);
    dirty_ = true;
  }
  file_ = std::move(file);
  return true;
}

void JournalWriter::report(File& data, int64_t task, int64_t block, int64_t bytes, bool finished) {
  const Report report{task, block, bytes, finished};
  if (deferred()) {
    if (!held_.empty() && held_.back().task == task && held_.back().block == block) held_.pop_back();
    held_.push_back(report);
    if (!durable_ && holder_()) confirm(data);
    return;
  }
  settle();
  if (!open(data)) return;
  write(report);
  if (!durable_) mark(data);
}

// Whoever misses the journal of a file that is marked knows that it is lost. A complete file keeps its pointer instead.
void JournalWriter::mark(File& data) {
  if (marked_) return;
  std::array<std::byte, format::pointer_size> found{};
  data.read_at(found, pointer_offset_);
  if (std::ranges::all_of(found, [](std::byte b) { return b == std::byte{}; })) data.write_at(format::journal_mark, pointer_offset_);
  marked_ = true;
}

// Where bytes are held for a collector they would come later than they should.
void JournalWriter::mark_apart(File& data) {
  File* const direct = deferred() ? holder_() : &data;
  if (direct || marked_) return mark(direct ? *direct : data);
  const std::shared_ptr<File> own = store_.open(data.path(), Access::write);
  mark(*own);
  own->close();
}

namespace {

// What follows the record in a slot; nothing if that says it all.
std::optional<JournalRecord> next_record(const std::optional<JournalRecord>& last, const JournalWriter::Report& r) {
  if (last && last->bytes == r.bytes && last->finished == r.finished) return std::nullopt;
  JournalRecord record;
  record.bytes = r.bytes;
  record.finished = r.finished;
  record.sequence = last ? last->sequence + 1 : 1;
  if (record.sequence == 0) record.sequence = 2;  // 0 is no sequence; keeps to the other half of the slot
  return record;
}

}  // namespace

void JournalWriter::write(const Report& r) {
  const int64_t slot = format::slot_number(header_.ntasks, r.block, r.task);
  if (slot != slot_) {
    std::array<std::byte, format::journal_slot_size> found{};
    file_->read_at(found, format::slot_offset(slot));
    last_ = format::decode_slot(found, seed_, slot);
    slot_ = slot;
  }
  const auto record = next_record(last_, r);
  if (!record) return;
  slot_ = -1;
  file_->write_at(format::encode(*record, seed_, slot),
                  format::slot_offset(slot) + format::journal_record_size * (record->sequence % 2));
  slot_ = slot;
  last_ = record;
  dirty_ = true;
}

void JournalWriter::report_all(File& data, int64_t first, std::span<const int64_t> counts,
                               const std::function<int64_t(size_t t, int64_t block)>& size_of) {
  constexpr size_t tasks_at_once = 16 << 10;
  if (!open(data)) return;
  std::vector<std::byte> slots;
  for (size_t begin = 0; begin < counts.size(); begin += tasks_at_once) {
    const auto some = counts.subspan(begin, std::min(tasks_at_once, counts.size() - begin));
    for (int64_t block = 0; block < std::ranges::max(some); ++block) {
      slots.assign(some.size() * format::journal_slot_size, std::byte{});
      const int64_t slot = format::slot_number(header_.ntasks, block, first + static_cast<int64_t>(begin));
      for (size_t t = 0; t < some.size(); ++t) {
        if (block >= some[t]) continue;
        JournalRecord record;
        record.sequence = 1;
        record.bytes = size_of(begin + t, block);
        record.finished = block + 1 < some[t];
        const auto bytes = format::encode(record, seed_, slot + static_cast<int64_t>(t));
        std::ranges::copy(bytes, slots.begin() + static_cast<ptrdiff_t>(t * format::journal_slot_size));
      }
      file_->write_at(slots, format::slot_offset(slot));
    }
  }
  dirty_ = true;
}

void JournalWriter::withdraw(int64_t task, int64_t first, int64_t last, int64_t bytes) {
  if (deferred()) std::erase_if(held_, [&](const Report& r) { return r.block >= first; });
  if (!file_ || last <= first) return;
  withdrawn_ = {task, first, bytes, false};
  withdrawn_end_ = last;
  attempt([&] { take_back(); });
}

void JournalWriter::take_back() {
  for (int64_t block = withdrawn_end_ - 1; block > withdrawn_->block; --block)
    write({withdrawn_->task, block, -1, false});
  write(*withdrawn_);
  withdrawn_.reset();
}

void JournalWriter::confirm(File& data) {
  come_back();
  if (held_.empty()) return;
  settle();
  if (open(data)) {
    for (const Report& r : held_) write(r);
    if (!durable_) mark_apart(data);
  }
  held_.clear();
}

int64_t JournalWriter::to_send() const {
  return durable_ ? 0 : std::ranges::count_if(held_, &Report::finished);
}

std::vector<JournalWriter::Report> JournalWriter::send(int64_t most) {
  const auto goes = [&](const Report& r) { return r.finished && std::ssize(underway_) < most; };
  std::erase_if(held_, [&](const Report& r) {
    if (!goes(r)) return false;
    underway_.push_back(r);
    return true;
  });
  return underway_;
}

void JournalWriter::come_back() {
  held_.insert(held_.begin(), underway_.begin(), underway_.end());
  underway_.clear();
}

// Slots side by side are written at once, with the halves that stay: their owners write nothing else there any more.
void JournalWriter::record(File& data, std::vector<Report> reports) {
  settle();
  if (reports.empty() || !open(data)) return;
  const auto slot_of = [&](const Report& r) { return format::slot_number(header_.ntasks, r.block, r.task); };
  std::ranges::sort(reports, {}, slot_of);
  slot_ = -1;
  std::vector<std::byte> slots;
  for (size_t begin = 0, end = 0; begin < reports.size(); begin = end) {
    const int64_t first = slot_of(reports[begin]);
    for (end = begin + 1; end < reports.size() && slot_of(reports[end]) == first + static_cast<int64_t>(end - begin);) ++end;
    slots.assign((end - begin) * format::journal_slot_size, std::byte{});
    file_->read_at(slots, format::slot_offset(first));
    bool changes = false;
    for (size_t i = 0; i < end - begin; ++i) {
      const auto slot = std::span(slots).subspan(i * format::journal_slot_size, format::journal_slot_size);
      const int64_t number = first + static_cast<int64_t>(i);
      const auto record = next_record(format::decode_slot(slot.first<format::journal_slot_size>(), seed_, number), reports[begin + i]);
      if (!record) continue;
      changes = true;
      std::ranges::copy(format::encode(*record, seed_, number), slot.begin() + format::journal_record_size * (record->sequence % 2));
    }
    if (changes) file_->write_at(slots, format::slot_offset(first));
  }
  mark(data);
}

void JournalWriter::sync(File& data) {
  if (!dirty_) return;
  file_->sync();
  dirty_ = false;
  mark_apart(data);
}

void remove_journal(Store& store, const std::string& physical_file) {
  attempt([&] { store.remove(format::journal_name(physical_file)); });
}

void JournalWriter::close() {
  if (const auto file = std::exchange(file_, nullptr)) file->close();
  slot_ = -1;
}

}  // namespace sheaf
