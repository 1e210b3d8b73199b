// Decodes headers and slots of journals, and reads the data of three tasks by their journal. Bits 0 and 1 of
// the first byte select the structure. If its highest bit is set, magic and hash of a header are correct.
#include <array>
#include <cstring>

#include "fuzz/journal_model.hpp"
#include "fuzz/memory_bound.hpp"
#include "fuzz/packed_files.hpp"
#include "fuzz/recipe.hpp"
#include "fuzz/span_file.hpp"
#include "fuzz/targets.hpp"
#include "multifile/journal/journal_reader.hpp"

namespace sheaf::fuzz {

namespace {

constexpr int64_t slot_tasks = 3;
constexpr int64_t largest_journal = format::slot_offset(256);

void decode_a_header(Recipe recipe, bool sound) {
  std::array<std::byte, format::journal_header_size> header{};
  std::ranges::copy(recipe.bytes(64), header.begin());
  if (sound) {
    std::memcpy(header.data(), "SheafJnl\x01\0\0\0\x20\0\0", 16);
    store<uint64_t>(header.data() + 56, format::hash_of(std::span(header).first(56)), ByteOrder::little);
  }
  const auto h = format::decode_journal_header(header, "m");
  if (h)
    require(format::decode_journal_header(format::encode(*h), "m") == h,
            "a journal header is encoded as it was decoded");
}

// Decodes two records from raw bytes, or from records made of the same bytes.
void decode_a_slot(Recipe recipe, bool made) {
  const uint64_t seed = recipe.byte();
  std::array<std::byte, format::journal_slot_size> slot{};
  if (made) {
    for (std::span<std::byte> half = slot; !half.empty(); half = half.subspan(format::journal_record_size)) {
      const int64_t bytes = recipe.number();
      const auto sequence = static_cast<uint32_t>(recipe.number());
      const uint8_t flags = recipe.byte();
      format::JournalRecord record{bytes, sequence, (flags & 1) != 0};
      if (flags & 2) record.before = sequence * 3;
      std::ranges::copy(format::encode(record, seed, 5), half.begin());
    }
  } else {
    slot = recipe.filled<format::journal_slot_size>();
  }
  const auto record = format::decode_slot(slot, seed, 5);
  const auto examined = format::examine_slot(slot, seed, 5);
  if (!record) return;
  require(examined.record.has_value(), "what is whole is found however it is looked for");
  require(record->bytes >= -1 && record->sequence != 0, "limits of a record");
  std::array<std::byte, format::journal_slot_size> again{};
  std::ranges::copy(format::encode(*record, seed, 5), again.begin());
  const auto same = format::decode_slot(again, seed, 5);
  require(same && same->bytes == record->bytes && same->finished == record->finished &&
              same->before == record->before,
          "a record is encoded as it was decoded");
}

struct FuzzedJournal {
  format::Header header;
  format::Extension extension;
  uint64_t seed;
  Bytes bytes;
  std::shared_ptr<SpanFile> file = std::make_shared<SpanFile>(format::journal_name("m"));
  SpanStore store{{file}};

  FuzzedJournal() {
    header.ntasks = slot_tasks;
    header.fsblksize = 64;
    extension.identity.fill(std::byte{5});
    const format::JournalHeader own{extension.identity, slot_tasks, 1, 0, 64, 4096};
    seed = format::journal_seed(own);
    const auto head = format::encode(own);
    bytes.assign(head.begin(), head.end());
    bytes.reserve(largest_journal);
  }
};

void read_a_journal(FuzzedJournal& journal, Recipe recipe, bool cut) {
  journal.bytes.resize(format::journal_header_size);
  const Slots slots = put_records(recipe.rest(), journal.seed, journal.bytes);
  // Removes zeros at the end of the journal. They are no records, so readers must find the same data without
  // them.
  while (cut && !journal.bytes.empty() && journal.bytes.back() == std::byte{}) journal.bytes.pop_back();
  journal.file->set(journal.bytes);
  const auto reader = multifile::JournalReader::open(journal.store, "m", journal.header, journal.extension);
  require(reader != nullptr, "the journal is there");
  const int64_t most = reader->max_blocks();
  int64_t expected_most = 1;
  std::array<int64_t, slot_tasks> counts{};
  reader->read_counts(0, most, counts);
  for (int64_t t = 0; t < slot_tasks; ++t) {
    const std::vector<int64_t> expected = blocks_of(slots, slot_tasks, t);
    expected_most = std::max(expected_most, std::ssize(expected));
    require(counts[static_cast<size_t>(t)] == std::ssize(expected), "number of blocks");
    for (size_t block = 0; block < expected.size(); ++block) {
      int64_t size = 0;
      reader->read_sizes(static_cast<int64_t>(block), t, {&size, 1});
      require(size == expected[block], "size of a block");
    }
  }
  require(most == expected_most, "largest number of blocks");
  require(reader->found_records() || slots.empty() || slots.begin()->first >= slot_tasks,
          "records are found");
}

}  // namespace

void fuzz_slots(std::span<const std::byte> input) {
  static FuzzedJournal journal;
  Recipe recipe(input);
  const uint8_t kind = recipe.byte();
  const bool sound = kind & 0x80;
  const MemoryBound bound(MemoryBound::for_structure(std::ssize(input)));
  try {
    switch (kind % 4) {
      case 0:
        return decode_a_header(recipe, sound);
      case 1:
        return decode_a_slot(recipe, sound);
      default:
        return read_a_journal(journal, recipe, sound);
    }
  } catch (const Error& e) {
    require(e.what()[0] != '\0', "an error has a message");
  }
}

}  // namespace sheaf::fuzz
