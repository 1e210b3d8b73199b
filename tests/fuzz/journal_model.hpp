// journal_model: creates the records of a journal from a fuzzer's bytes, and determines the records that a
// reader must find by docs/format.md, section 16, without the library's reader. A record takes 8 bytes of the
// input: slot, sequence, flags (1: finished; 4: one bit is wrong, which readers correct), and five bytes,
// little endian, with the number of bytes in the chunk.
#pragma once

#include <algorithm>
#include <map>
#include <span>
#include <vector>

#include "format/journal.hpp"

namespace sheaf::fuzz {

inline constexpr size_t record_bytes = 8;
inline constexpr size_t max_records = 64;

using Slots = std::map<int64_t, std::vector<format::JournalRecord>>;  // by slot, unordered

// Writes the records into `journal`, which already has a header. Returns the valid records, of which each
// half of a slot has at most one.
inline Slots put_records(std::span<const std::byte> input, uint64_t seed, std::vector<std::byte>& journal) {
  std::map<std::pair<int64_t, uint32_t>, format::JournalRecord> halves;
  for (size_t at = 0; at + record_bytes <= input.size() && at < max_records * record_bytes;
       at += record_bytes) {
    const auto byte = [&](size_t i) { return static_cast<uint8_t>(input[at + i]); };
    const int64_t slot = byte(0);
    format::JournalRecord r;
    r.sequence = byte(1) + 1U;
    r.finished = byte(2) & 1;
    for (size_t i = 0; i < 5; ++i) r.bytes |= static_cast<int64_t>(byte(3 + i)) << (8 * i);
    if (r.bytes == (int64_t{1} << 40) - 1) r.bytes = -1;
    auto encoded = format::encode(r, seed, slot);
    if (byte(2) & 4) encoded[byte(7) % encoded.size()] ^= std::byte{1};
    const int64_t offset = format::slot_offset(slot) + format::journal_record_size * (r.sequence % 2);
    journal.resize(std::max(journal.size(), static_cast<size_t>(offset) + encoded.size()));
    std::ranges::copy(encoded, journal.begin() + offset);
    const std::pair half{slot, r.sequence % 2};
    halves[half] = r;
  }
  Slots slots;
  for (const auto& [half, record] : halves) slots[half.first].push_back(record);
  return slots;
}

// Returns the block sizes of task `task` of `tasks` tasks.
inline std::vector<int64_t> blocks_of(const Slots& slots, int64_t tasks, int64_t task) {
  std::vector<int64_t> sizes;
  for (int64_t block = 0;; ++block) {
    const auto found = slots.find(format::slot_number(tasks, block, task));
    const format::JournalRecord* newest = nullptr;
    if (found != slots.end())
      for (const auto& r : found->second)
        if (!newest || static_cast<int32_t>(r.sequence - newest->sequence) > 0) newest = &r;
    if (!newest || newest->bytes < 0) break;
    sizes.push_back(newest->bytes);
    if (!newest->finished) break;
  }
  if (sizes.empty()) sizes.push_back(0);
  return sizes;
}

}  // namespace sheaf::fuzz
