#include "journal/journal_reader.hpp"

#include "journal/constants.hpp"
#include "journal/journal_file.hpp"
#include "layout/slices.hpp"

#include <algorithm>

#include "storage/decorators/few_descriptors.hpp"
#include "storage/store.hpp"

namespace sheaf {

using namespace journal_constants;

namespace {

// Null if there is no file of this name.
std::shared_ptr<File> open_if_there(Store& store, const std::string& name) {
  const FileStatus there = store.status(name);
  if (!there.exists || there.is_directory || there.is_special) return nullptr;  // a pipe would be waited for
  try {
    return open_one_of_many(store, name);
  } catch (const Error& e) {
    if (e.code() == Code::not_found) return nullptr;
    throw;
  }
}

std::optional<format::JournalHeader> read_header(File& file, const std::string& name) {
  std::array<std::byte, format::journal_header_size> head;
  return format::decode_journal_header(std::span(head).first(file.read_at(head, 0)), name);
}

}  // namespace

std::unique_ptr<JournalReader> JournalReader::open(Store& store, const std::string& path,
                                                   const format::Header& h,
                                                   const format::Extension& extension) {
  const std::string place = place_of_journals(store, path);
  const std::string name = format::journal_name(place);
  auto file = open_if_there(store, name);
  if (!file) return nullptr;
  const auto found = read_header(*file, name);
  std::vector<std::shared_ptr<File>> files{std::move(file)};
  if (found && found->hosts > 1 && found->identity == extension.identity) {
    files.clear();
    for (int32_t host = 0; host < found->hosts; ++host) {
      const std::string own = format::journal_name(place, host);
      auto of_host = open_if_there(store, own);
      if (!of_host) continue;
      read_header(*of_host, own);
      files.push_back(std::move(of_host));
    }
  }
  const format::JournalHeader own{extension.identity, h.ntasks, h.nfiles, h.filenumber};
  return std::unique_ptr<JournalReader>(
      new JournalReader(std::move(files), h.ntasks, format::journal_seed(own)));
}

// The bytes of `count` slots; false: there are none.
bool JournalReader::read_slots(File& file, int64_t slot, int64_t count, std::vector<std::byte>& into) {
  into.resize(static_cast<size_t>(format::journal_slot_size * count));
  const int64_t at = format::slot_offset(slot);
  if (count == slots_at_once && file.next(Space::data, at) >= at + std::ssize(into)) return false;  // a hole
  const size_t got = file.read_at(into, at);
  std::fill(into.begin() + static_cast<ptrdiff_t>(got), into.end(), std::byte{});
  return got > 0;
}

// visit(i, record) for task first + i; records that are not there are nullopt. A task is on one host, but one
// that appends may find its beginning recorded by another: the record that tells more counts.
template <class Visit>
void JournalReader::for_each_slot(int64_t round, int64_t first, int64_t count, Visit&& visit) {
  for (int64_t done = 0; done < count; done += slots_at_once) {
    const int64_t n = std::min(count - done, slots_at_once);
    const int64_t slot = format::slot_number(ntasks_, round, first + done);
    records_.assign(static_cast<size_t>(n), std::nullopt);
    for (const auto& file : files_) {
      if (!read_slots(*file, slot, n, buffer_)) continue;
      for (int64_t i = 0; i < n; ++i) {
        const auto own = std::span(buffer_)
                             .subspan(static_cast<size_t>(format::journal_slot_size * i))
                             .template first<format::journal_slot_size>();
        const auto record = format::decode_slot(own, seed_, slot + i);
        auto& best = records_[static_cast<size_t>(i)];
        if (record &&
            (!best || std::pair(record->bytes, record->finished) > std::pair(best->bytes, best->finished)))
          best = record;
      }
    }
    for (int64_t i = 0; i < n; ++i) {
      const auto& record = records_[static_cast<size_t>(i)];
      found_ |= record.has_value();
      visit(done + i, record);
    }
  }
}

// A chunk follows another one only if that is known to be finished.
void JournalReader::read_counts(int64_t first, int64_t most, std::span<int64_t> counts) {
  std::ranges::fill(counts, 1);
  std::vector<bool> goes_on(counts.size(), true);
  for (int64_t round = 0; round < most; ++round) {
    bool any = false;
    for_each_slot(round, first, std::ssize(counts),
                  [&](int64_t i, const std::optional<format::JournalRecord>& record) {
                    const auto t = static_cast<size_t>(i);
                    if (!goes_on[t]) return;
                    goes_on[t] = record && record->bytes >= 0 && record->finished;
                    if (record && record->bytes >= 0) counts[t] = round + 1;
                    any |= goes_on[t];
                  });
    if (!any) return;
  }
}

int64_t JournalReader::most_blocks() {
  int64_t most = 1;
  layout::for_each_slice(0, ntasks_, counts_at_once, [&](int64_t first, std::span<int64_t> counts) {
    read_counts(first, INT32_MAX, counts);
    most = std::max(most, std::ranges::max(counts));
  });
  return most;
}

void JournalReader::read_sizes(int64_t round, int64_t first, std::span<int64_t> sizes) {
  for_each_slot(round, first, std::ssize(sizes),
                [&](int64_t i, const std::optional<format::JournalRecord>& record) {
                  sizes[static_cast<size_t>(i)] = record ? std::max<int64_t>(0, record->bytes) : 0;
                });
}

}  // namespace sheaf
