#include "multifile/journal_reader.hpp"

#include <algorithm>

namespace sheaf {

namespace {
constexpr int64_t slots_at_once = 16 << 10;  // 1 MiB
}  // namespace

JournalReader::JournalReader(std::shared_ptr<File> file, int64_t ntasks, uint64_t seed)
    : file_(std::move(file)), ntasks_(ntasks), seed_(seed) {}

std::unique_ptr<JournalReader> JournalReader::open(Store& store, const std::string& path, const format::Header& h,
                                                   const format::Extension& extension) {
  const std::string name = format::journal_name(path);
  const FileStatus there = store.status(name);
  if (!there.exists || there.is_directory || there.is_special) return nullptr;  // a pipe would be waited for
  std::shared_ptr<File> file;
  try {
    file = store.open(name, Access::read);
  } catch (const Error& e) {
    if (e.code() == Code::not_found) return nullptr;
    throw;
  }
  std::array<std::byte, format::journal_header_size> head;
  format::decode_journal_header(std::span(head).first(file->read_at(head, 0)), name);
  const format::JournalHeader own{extension.identity, h.ntasks, h.nfiles, h.filenumber};
  return std::unique_ptr<JournalReader>(new JournalReader(std::move(file), h.ntasks, format::journal_seed(own)));
}

// visit(i, record) for task first + i; records that are not there are nullopt.
template <class Visit>
void JournalReader::for_each_slot(int64_t round, int64_t first, int64_t count, Visit&& visit) {
  buffer_.resize(static_cast<size_t>(format::journal_slot_size * std::min(count, slots_at_once)));
  for (int64_t done = 0; done < count;) {
    const int64_t n = std::min(count - done, slots_at_once);
    const int64_t slot = format::slot_number(ntasks_, round, first + done);
    const auto bytes = std::span(buffer_).first(static_cast<size_t>(format::journal_slot_size * n));
    const int64_t at = format::slot_offset(slot);
    const bool hole = n == slots_at_once && file_->next_data(at) >= at + std::ssize(bytes);
    const size_t got = hole ? 0 : file_->read_at(bytes, at);
    if (got == 0) {
      for (int64_t i = 0; i < n; ++i) visit(done + i, std::optional<format::JournalRecord>());
      done += n;
      continue;
    }
    std::fill(bytes.begin() + static_cast<ptrdiff_t>(got), bytes.end(), std::byte{});
    for (int64_t i = 0; i < n; ++i) {
      const auto own = bytes.subspan(static_cast<size_t>(format::journal_slot_size * i)).template first<format::journal_slot_size>();
      const auto record = format::decode_slot(own, seed_, slot + i);
      found_ |= record.has_value();
      visit(done + i, record);
    }
    done += n;
  }
}

// A chunk follows another one only if that is known to be finished.
void JournalReader::read_counts(int64_t first, int64_t most, std::span<int64_t> counts) {
  std::ranges::fill(counts, 1);
  std::vector<bool> goes_on(counts.size(), true);
  for (int64_t round = 0; round < most; ++round) {
    bool any = false;
    for_each_slot(round, first, std::ssize(counts), [&](int64_t i, const std::optional<format::JournalRecord>& record) {
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
  constexpr int64_t tasks_at_once = 64 << 10;
  int64_t most = 1;
  std::vector<int64_t> counts;
  for (int64_t first = 0; first < ntasks_; first += tasks_at_once) {
    counts.resize(static_cast<size_t>(std::min(tasks_at_once, ntasks_ - first)));
    read_counts(first, INT32_MAX, counts);
    most = std::max(most, std::ranges::max(counts));
  }
  return most;
}

void JournalReader::read_sizes(int64_t round, int64_t first, std::span<int64_t> sizes) {
  for_each_slot(round, first, std::ssize(sizes), [&](int64_t i, const std::optional<format::JournalRecord>& record) {
    sizes[static_cast<size_t>(i)] = record ? std::max<int64_t>(0, record->bytes) : 0;
  });
}

}  // namespace sheaf
