#include "multifile/journal/journal_reader.hpp"

#include "base/bytes.hpp"
#include "layout/slices.hpp"
#include "multifile/journal/constants.hpp"
#include "multifile/journal/journal_file.hpp"

#include <algorithm>

#include "storage/decorators/few_descriptors.hpp"
#include "storage/store.hpp"

namespace sheaf::multifile {

using namespace journal_constants;

namespace {

// Opens the file `name` for reading. Returns null if it is missing or no regular file.
std::shared_ptr<File> open_if_there(Store& store, const std::string& name) {
  const FileStatus there = store.status(name);
  if (!there.exists || there.is_directory || there.is_special) return nullptr;  // opening a pipe would block
  try {
    return open_one_of_many(store, name);
  } catch (const Error& e) {
    if (e.code() == Code::not_found) return nullptr;
    throw;
  }
}

// Reads the bytes of `count` slots from slot number `slot` on. Returns false if the file has no bytes there.
bool read_slots(File& file, int64_t slot, int64_t count, std::vector<std::byte>& into) {
  into.resize(static_cast<size_t>(format::journal_slot_size * count));
  const int64_t at = format::slot_offset(slot);
  if (count == slots_at_once && file.next(Space::data, at) >= at + std::ssize(into)) return false;  // a hole
  const size_t got = file.read_at(into, at);
  std::fill(into.begin() + static_cast<ptrdiff_t>(got), into.end(), std::byte{});
  return got > 0;
}

}  // namespace

// Adds a journal. Returns its header if it is complete.
std::optional<format::JournalHeader> JournalReader::add(std::shared_ptr<File> file, const std::string& name,
                                                        const format::Identity& identity) {
  file->revalidate();  // this host may have cached old contents
  const auto head = read_journal_head(*file);
  auto header = format::decode_journal_header(head, name);
  // A short or zero header was never completed: the task that began it died before any record was written.
  const bool written = std::ssize(head) == format::journal_header_size && !is_zero(head);
  const bool examined = header ? header->identity == identity && !header->taken_over : written;
  if (!header && written) damage_.headers.push_back(name);
  journals_.push_back({std::move(file), examined});
  return header;
}

std::unique_ptr<JournalReader> JournalReader::open(Store& store, const std::string& path,
                                                   const format::Header& h,
                                                   const format::Extension& extension, LostRecords lost) {
  const std::string place = place_of_journals(store, path);
  const std::string name = format::journal_name(place);
  auto file = open_if_there(store, name);
  if (!file) return nullptr;
  const format::JournalHeader own{extension.identity, h.ntasks, h.nfiles, h.filenumber};
  std::unique_ptr<JournalReader> reader(new JournalReader(h.ntasks, format::journal_seed(own), lost));
  const auto found = reader->add(std::move(file), name, extension.identity);
  if (!found || found->hosts == 1 || found->identity != extension.identity) return reader;
  reader->journals_.clear();
  for (int32_t host = 0; host < found->hosts; ++host) {
    const std::string of_host = format::journal_name(place, host);
    if (auto its = open_if_there(store, of_host)) reader->add(std::move(its), of_host, extension.identity);
  }
  return reader;
}

// Decodes a slot. A slot that was read during a write may look torn or damaged, so such a slot is read a
// second time.
format::ExaminedSlot JournalReader::slot_of(const Journal& journal, std::span<const std::byte> bytes,
                                            int64_t slot) const {
  std::array<std::byte, format::journal_slot_size> own;
  std::ranges::copy(bytes, own.begin());
  if (!journal.examined) return {format::decode_slot(own, seed_, slot)};
  format::ExaminedSlot found = format::examine_slot(own, seed_, slot);
  if (found.state == format::JournalSlotState::sound) return found;
  own.fill(std::byte{});
  journal.file->read_at(own, format::slot_offset(slot));
  return format::examine_slot(own, seed_, slot);
}

// Calls visit(i, slot) for each task first + i. Normally only the journal of the task's host has a record.
// After an append, the journal of a different host may have an older record; the one with more bytes is used.
template <class Visit>
void JournalReader::for_each_slot(int64_t round, int64_t first, int64_t count, Visit&& visit) {
  for (int64_t done = 0; done < count; done += slots_at_once) {
    const int64_t n = std::min(count - done, slots_at_once);
    const int64_t slot = format::slot_number(ntasks_, round, first + done);
    slots_.assign(static_cast<size_t>(n), {});
    for (const Journal& journal : journals_) {
      if (!read_slots(*journal.file, slot, n, buffer_)) continue;
      for (int64_t i = 0; i < n; ++i) {
        const auto own = std::span(buffer_).subspan(static_cast<size_t>(format::journal_slot_size * i),
                                                    format::journal_slot_size);
        if (is_zero(own)) continue;
        const auto [record, state] = slot_of(journal, own, slot + i);
        auto& [best, worst] = slots_[static_cast<size_t>(i)];
        worst = std::max(worst, state);
        if (record &&
            (!best || std::pair(record->bytes, record->finished) > std::pair(best->bytes, best->finished)))
          best = record;
      }
    }
    int64_t task = done;
    for (const format::ExaminedSlot& found : slots_) {
      found_ |= found.record.has_value();
      visit(task++, found);
    }
  }
}

// Counts a chunk only if the preceding one is known to be finished.
template <class Lost>
void JournalReader::count_blocks(int64_t first, int64_t most, std::span<int64_t> counts, Lost&& lost) {
  std::ranges::fill(counts, 1);
  std::vector<bool> goes_on(counts.size(), true);
  for (int64_t round = 0; round < most; ++round) {
    bool any = false;
    for_each_slot(round, first, std::ssize(counts), [&](int64_t i, const format::ExaminedSlot& slot) {
      const auto t = static_cast<size_t>(i);
      if (!goes_on[t]) return;
      if (slot.state != format::JournalSlotState::sound) lost(first + i, round, slot.state);
      const auto& record = slot.record;
      goes_on[t] = record && record->bytes >= 0 && record->finished;
      const bool is_lost =
          !record && slot.state == format::JournalSlotState::damaged;  // a block, possibly empty
      if (is_lost || (record && record->bytes >= 0)) counts[t] = round + 1;
      any |= goes_on[t];
    });
    if (!any) return;
  }
}

void JournalReader::read_counts(int64_t first, int64_t most, std::span<int64_t> counts) {
  count_blocks(first, most, counts, [&](int64_t task, int64_t round, format::JournalSlotState state) {
    if (lost_ == LostRecords::accepted || state != format::JournalSlotState::damaged) return;
    throw file_error(
        Code::damaged, journals_.front().file->path(),
        "the record of how much local task " + std::to_string(task) + " has written to its chunk " +
            std::to_string(round) +
            " is damaged: where its stream ends is not known (open mode checksums=off reads what is known; "
            "`sheaf repair` with --force keeps that)");
  });
}

int64_t JournalReader::max_blocks() {
  int64_t most = 1;
  damage_.corrected = damage_.lost = 0;
  layout::for_each_slice(0, ntasks_, counts_at_once, [&](int64_t begin, std::span<int64_t> counts) {
    count_blocks(begin, INT32_MAX, counts, [&](int64_t task, int64_t, format::JournalSlotState state) {
      if (state == format::JournalSlotState::corrected) {
        ++damage_.corrected;
      } else if (damage_.lost++ == 0) {
        damage_.first_lost = task;
      }
    });
    most = std::max(most, std::ranges::max(counts));
  });
  return most;
}

void JournalReader::read_sizes(int64_t round, int64_t first, std::span<int64_t> sizes) {
  for_each_slot(round, first, std::ssize(sizes), [&](int64_t i, const format::ExaminedSlot& slot) {
    sizes[static_cast<size_t>(i)] = slot.record ? std::max<int64_t>(0, slot.record->bytes) : 0;
  });
}

}  // namespace sheaf::multifile
