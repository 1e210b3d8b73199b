// Journals of an unclosed multifile of three tasks. The input is a list of records, 8 bytes each: slot, sequence, flags (1 finished,
// 2 checksum, 4 the record is destroyed), and the bytes of the chunk in five bytes, little endian. What the readers find is what
// a model of docs/format.md, section 16, finds, and a repair keeps it.
#include <algorithm>
#include <map>

#include "comm/agree.hpp"
#include "format/journal.hpp"
#include "fuzz/memory_bound.hpp"
#include "fuzz/packed_files.hpp"
#include "fuzz/targets.hpp"
#include "multifile/repair.hpp"
#include "multifile/serial_reader.hpp"
#include "multifile/serial_writer.hpp"

namespace sheaf::fuzz {

namespace {

constexpr int64_t tasks = 3;
constexpr int64_t chunk = 64;
constexpr size_t record_bytes = 8;
constexpr size_t most_records = 64;

// The file as its program leaves it: the journal that it has begun is in `journal`.
struct Unclosed {
  Bytes file, journal;
  uint64_t seed = 0;

  Unclosed() {
    MemoryStore store;
    const std::vector<int64_t> sizes(tasks, chunk), ranks{0, 1, 2};
    SerialWriter writer(store, {"m", sizes, ranks, chunk}, parse_open_mode("w,buffer=0"));
    for (int64_t t = 0; t < tasks; ++t) {
      writer.select(t);
      writer.stream().write(Bytes(4 * chunk, std::byte{7}));
      writer.commit();
    }
    file = store.contents("m");
    journal = store.contents("m.journal");
    journal.resize(format::journal_header_size);
    const auto extension = format::decode_extension(file, "m");
    require(extension.has_value(), "the file has an identity");
    seed = format::journal_seed({extension->identity, tasks, 1, 1});
  }
};

using Slots = std::map<int64_t, std::vector<format::JournalRecord>>;  // of each slot, the latest last

// Block sizes of a task.
std::vector<int64_t> blocks_of(const Slots& slots, int64_t task) {
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

// Writes the records, and returns those that count: one at most in each half of a slot.
Slots put_records(std::span<const std::byte> input, const Unclosed& base, Bytes& journal) {
  std::map<std::pair<int64_t, uint32_t>, format::JournalRecord> halves;
  for (size_t at = 0; at + record_bytes <= input.size() && at < most_records * record_bytes; at += record_bytes) {
    const auto byte = [&](size_t i) { return static_cast<uint8_t>(input[at + i]); };
    const int64_t slot = byte(0);
    format::JournalRecord r;
    r.sequence = byte(1) + 1U;
    r.finished = byte(2) & 1;
    if (byte(2) & 2) r.checksum = byte(7);
    for (size_t i = 0; i < 5; ++i) r.bytes |= static_cast<int64_t>(byte(3 + i)) << (8 * i);
    if (r.bytes == (int64_t{1} << 40) - 1) r.bytes = -1;
    auto encoded = format::encode(r, base.seed, slot);
    if (byte(2) & 4) encoded[byte(7) % encoded.size()] ^= std::byte{1};
    const int64_t offset = format::slot_offset(slot) + format::journal_record_size * (r.sequence % 2);
    journal.resize(std::max(journal.size(), static_cast<size_t>(offset) + encoded.size()));
    std::ranges::copy(encoded, journal.begin() + offset);
    const std::pair half{slot, r.sequence % 2};
    halves.erase(half);
    if (!(byte(2) & 4)) halves[half] = r;
  }
  Slots slots;
  for (const auto& [half, record] : halves) slots[half.first].push_back(record);
  return slots;
}

void check_reader(Store& store, const std::string& path, const std::vector<std::vector<int64_t>>& expected) {
  SerialReader reader(store, path, parse_open_mode("r"));
  for (int64_t t = 0; t < tasks; ++t) {
    reader.select(t);
    const BlockSizes& found = reader.stream().sizes();
    const auto& sizes = expected[static_cast<size_t>(t)];
    require(found.count == std::ssize(sizes), "number of blocks");
    for (size_t b = 0; b < sizes.size(); ++b) require(found[static_cast<int64_t>(b)] == sizes[b], "size of a block");
    Bytes data(16 * chunk);
    attempt([&] { data.resize(reader.stream().read(data)); });
  }
}

}  // namespace

void fuzz_journal(std::span<const std::byte> input) {
  static const Unclosed base;
  const MemoryBound bound(MemoryBound::for_files(std::ssize(base.file) + 64 * 256 * 3));
  Bytes journal = base.journal;
  const Slots slots = put_records(input, base, journal);
  MemoryStore store;
  store.set_contents("m", base.file);
  store.set_contents("m.journal", journal);
  std::vector<std::vector<int64_t>> expected;
  bool possible = true;
  for (int64_t t = 0; t < tasks; ++t) {
    expected.push_back(blocks_of(slots, t));
    for (const int64_t size : expected.back()) possible &= size <= chunk;
  }
  std::optional<SerialReader> reader;
  const auto problem = attempt([&] { reader.emplace(store, "m", parse_open_mode("r")); });
  reader.reset();
  if (slots.empty() || slots.begin()->first >= tasks)
    return require(problem && problem->code() == Code::unclosed, "a journal without records of first blocks is lost");
  if (possible) require(!problem, "an unclosed file of sound records can be read");
  if (problem) return;
  check_reader(store, "m", expected);
  WorkProgress quiet;
  if (attempt([&] { repair(store, "m", {}, quiet); })) return;
  check_reader(store, "m", expected);
}

}  // namespace sheaf::fuzz
