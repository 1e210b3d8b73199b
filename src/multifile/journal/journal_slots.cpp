#include "multifile/journal/journal_slots.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/assert.hpp"
#include "comm/agree.hpp"
#include "multifile/journal/constants.hpp"
#include "multifile/journal/journal_file.hpp"

namespace sheaf::multifile {

using format::journal_slot_size;

namespace {

bool says_the_same(const std::optional<format::JournalRecord>& last, const ChunkReport& r) {
  return last && last->bytes == r.bytes && last->finished == r.finished;
}

// A part of the journal in memory: adjacent slots from number `first` on.
struct SlotBytes {
  int64_t first;
  uint64_t seed;
  std::vector<std::byte> bytes;

  std::span<std::byte, journal_slot_size> slot(size_t i) {
    return std::span(bytes).subspan(i * journal_slot_size).first<journal_slot_size>();
  }
  void set(size_t i, const std::optional<format::JournalRecord>& last, int64_t size, bool finished) {
    const int64_t number = first + static_cast<int64_t>(i);
    const auto record = format::next_record(last, size, finished, seed, number);
    std::ranges::copy(format::encode(record, seed, number),
                      slot(i).begin() + format::half_offset(record.sequence));
  }
};

}  // namespace

void JournalSlots::open(Store& store, const std::string& physical_file, const format::JournalHeader& header) {
  bool changed = false;
  auto file = open_journal(store, physical_file, header, changed);
  seed_ = format::journal_seed(header);
  counts_names_ = file->status().links > 0;
  dirty_ = changed;
  file_ = std::move(file);
  ntasks_ = header.ntasks;
}

void JournalSlots::find(const ChunkReport& report) {
  SHEAF_ASSERT(file_ && report.task >= 0 && report.task < ntasks_ && report.block >= 0);
  const int64_t slot = format::slot_number(ntasks_, report.block, report.task);
  if (slot == slot_) return;
  std::array<std::byte, journal_slot_size> found{};
  file_->read_at(found, format::slot_offset(slot));
  last_ = format::decode_slot(found, seed_, slot);
  slot_ = slot;
}

// Replaces the record that find() has found.
void JournalSlots::replace(const ChunkReport& report) {
  if (says_the_same(last_, report)) return;
  const int64_t slot = slot_;
  const auto record = format::next_record(last_, report.bytes, report.finished, seed_, slot);
  // The valid record stays until the new one is complete.
  SHEAF_ASSERT(!last_ || format::half_offset(record.sequence) != format::half_offset(last_->sequence));
  slot_ = -1;
  file_->write_at(format::encode(record, seed_, slot),
                  format::slot_offset(slot) + format::half_offset(record.sequence));
  slot_ = slot;
  last_ = record;
  dirty_ = true;
}

void JournalSlots::write(const ChunkReport& report) {
  find(report);
  replace(report);
}

// The bytes that only the new record would cover may be unsynced, or in the memory of this task.
void JournalSlots::withdraw(ChunkReport report) {
  find(report);
  if (!last_ || (!last_->finished && report.bytes >= 0)) return;
  report.bytes = std::min(report.bytes, last_->bytes);
  replace(report);
}

void JournalSlots::write_side_by_side(std::vector<ChunkReport>& reports) {
  const auto slot_of = [&](const ChunkReport& r) { return format::slot_number(ntasks_, r.block, r.task); };
  std::ranges::sort(reports, {}, slot_of);
  slot_ = -1;
  SlotBytes slots{0, seed_, {}};
  for (size_t begin = 0, end = 0; begin < reports.size(); begin = end) {
    slots.first = slot_of(reports[begin]);
    while (end < reports.size() && slot_of(reports[end]) == slots.first + static_cast<int64_t>(end - begin))
      ++end;
    slots.bytes.assign((end - begin) * journal_slot_size, std::byte{});
    file_->read_at(slots.bytes, format::slot_offset(slots.first));
    bool changes = false;
    for (size_t i = 0; i < end - begin; ++i) {
      const ChunkReport& r = reports[begin + i];
      const auto last = format::decode_slot(slots.slot(i), seed_, slots.first + static_cast<int64_t>(i));
      if (says_the_same(last, r)) continue;
      changes = true;
      slots.set(i, last, r.bytes, r.finished);
    }
    if (changes) file_->write_at(slots.bytes, format::slot_offset(slots.first));
  }
}

void JournalSlots::write_all(int64_t first, std::span<const int64_t> counts,
                             const std::function<int64_t(size_t t, int64_t block)>& size_of) {
  SlotBytes slots{0, seed_, {}};
  for (size_t begin = 0; begin < counts.size(); begin += journal_constants::tasks_at_once) {
    const auto some =
        counts.subspan(begin, std::min(journal_constants::tasks_at_once, counts.size() - begin));
    for (int64_t block = 0; block < std::ranges::max(some); ++block) {
      slots.first = format::slot_number(ntasks_, block, first + static_cast<int64_t>(begin));
      slots.bytes.assign(some.size() * journal_slot_size, std::byte{});
      for (size_t t = 0; t < some.size(); ++t)
        if (block < some[t]) slots.set(t, {}, size_of(begin + t, block), block + 1 < some[t]);
      file_->write_at(slots.bytes, format::slot_offset(slots.first));
    }
  }
  dirty_ = true;
}

bool JournalSlots::sync() {
  if (unsynced_) throw *unsynced_;
  if (!dirty_) return false;
  unsynced_ = attempt([&] { file_->sync(); });
  if (unsynced_) throw *unsynced_;
  dirty_ = false;
  return true;
}

void JournalSlots::close() {
  if (const auto file = std::exchange(file_, nullptr)) attempt([&] { file->close(); });
  slot_ = -1;
}

}  // namespace sheaf::multifile
