// Tests slots of a journal. Readers must distinguish torn records from damaged ones, and must detect a loss
// of the newest record.
#include "format/journal.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/bytes.hpp"

namespace sheaf::format::journal_test {
namespace {

constexpr uint64_t seed = 0x5eed;
constexpr int64_t slot_of_test = 7;

using Bytes = std::array<std::byte, journal_slot_size>;

// A slot to which `records` records were written one after another.
struct WrittenSlot {
  Bytes bytes{};
  std::optional<JournalRecord> last;

  explicit WrittenSlot(int records) {
    for (int i = 0; i < records; ++i) write(journal_record_size);
  }
  // Writes the first `length` bytes of the next record.
  void write(int64_t length) {
    const auto next = next_record(last, last ? last->bytes + 1000 : 1000, false, seed, slot_of_test);
    const auto encoded = encode(next, seed, slot_of_test);
    std::copy_n(encoded.begin(), length, bytes.begin() + half_offset(next.sequence));
    if (length == journal_record_size) last = next;
  }
  ExaminedSlot examine() const { return examine_slot(bytes, seed, slot_of_test); }
};

TEST(JournalSlot, HoldsTheNewestRecordAndTheOneBefore) {
  EXPECT_FALSE(WrittenSlot(0).examine().record);
  for (int records = 1; records < 6; ++records) {
    const ExaminedSlot found = WrittenSlot(records).examine();
    EXPECT_EQ(found.state, JournalSlotState::sound);
    ASSERT_TRUE(found.record);
    EXPECT_EQ(found.record->bytes, 1000 * records);
  }
}

// A flush whose record is torn has not succeeded. Readers must return the previous record, and must not
// report damage.
TEST(JournalSlot, TornByAWriteThatEndedEarlyIsSound) {
  for (int records = 0; records < 5; ++records)
    for (int64_t length = 0; length <= journal_record_size - 8; ++length) {
      SCOPED_TRACE(std::to_string(length) + " bytes of record " + std::to_string(records + 1));
      WrittenSlot slot(records);
      slot.write(length);
      const ExaminedSlot found = slot.examine();
      EXPECT_EQ(found.state, JournalSlotState::sound);
      EXPECT_EQ(found.record ? found.record->bytes : 0, 1000 * records);
    }
}

TEST(JournalSlot, IsCorrectedWhereOneBitIsWrong) {
  for (int records = 1; records < 5; ++records)
    for (int64_t bit = 0; bit < 8 * journal_slot_size; ++bit) {
      SCOPED_TRACE("bit " + std::to_string(bit) + " after record " + std::to_string(records));
      WrittenSlot slot(records);
      slot.bytes[static_cast<size_t>(bit / 8)] ^= std::byte{static_cast<unsigned char>(1U << (bit % 8))};
      const ExaminedSlot found = slot.examine();
      EXPECT_EQ(found.state, JournalSlotState::corrected);
      ASSERT_TRUE(found.record);
      EXPECT_EQ(found.record->bytes, 1000 * records);
    }
}

// If bytes anywhere in the slot are wrong or zero, readers must find the newest record or report damage.
// Zeros in place of the whole newest record are an exception, because they look like a record that was never
// written.
TEST(JournalSlot, SaysSoWhereItsNewestRecordIsDestroyed) {
  for (const bool zeros : {false, true})
    for (int records = zeros ? 5 : 1; records < 8; ++records)
      for (int64_t length = 2; length < journal_record_size; ++length)
        for (int64_t at = 0; at + length <= journal_slot_size; ++at) {
          SCOPED_TRACE(std::to_string(length) + " bytes at " + std::to_string(at) + " after record " +
                       std::to_string(records));
          WrittenSlot slot(records);
          const Bytes before = slot.bytes;
          const auto changed =
              std::span(slot.bytes).subspan(static_cast<size_t>(at), static_cast<size_t>(length));
          for (std::byte& b : changed) b = zeros ? std::byte{} : b ^ std::byte{0x5a};
          const auto newest_bytes =
              std::span(slot.bytes)
                  .subspan(static_cast<size_t>(half_offset(slot.last->sequence)), journal_record_size);
          if (slot.bytes == before || is_zero(newest_bytes)) continue;
          const ExaminedSlot found = slot.examine();
          const bool newest = found.record && found.record->bytes == 1000 * records;
          EXPECT_TRUE(newest || found.state == JournalSlotState::damaged);
        }
}

// After a loss of power, any records that were not synced may be missing, also if a later record is present.
// Readers must not report damage then.
TEST(JournalSlot, IsSoundWhereALossOfPowerTookARecordAndLeftALaterOne) {
  for (int records = 2; records < 6; ++records) {
    WrittenSlot slot(records);
    const auto older = static_cast<size_t>(half_offset(slot.last->sequence + 1));
    std::ranges::fill(std::span(slot.bytes).subspan(older, journal_record_size), std::byte{});
    EXPECT_EQ(slot.examine().state, JournalSlotState::sound);
    EXPECT_EQ(slot.examine().record->bytes, 1000 * records);
  }
}

TEST(JournalSlot, OfAnEarlierVersionIsDamagedWhereARecordIsDestroyed) {
  Bytes bytes{};
  for (const uint32_t sequence : {1U, 2U})
    std::ranges::copy(encode({.bytes = 10 * sequence, .sequence = sequence}, seed, slot_of_test),
                      bytes.begin() + half_offset(sequence));
  EXPECT_EQ(examine_slot(bytes, seed, slot_of_test).record->bytes, 20);
  EXPECT_EQ(examine_slot(bytes, seed, slot_of_test).state, JournalSlotState::sound);
  bytes[3] = bytes[4] = std::byte{0xee};
  EXPECT_EQ(examine_slot(bytes, seed, slot_of_test).record->bytes, 10);
  EXPECT_EQ(examine_slot(bytes, seed, slot_of_test).state, JournalSlotState::damaged);
}

TEST(JournalSlot, NumbersGoOnBehindTheLargestSequence) {
  std::optional<JournalRecord> last = JournalRecord{.bytes = 1, .sequence = UINT32_MAX};
  const auto next = next_record(last, 2, true, seed, slot_of_test);
  EXPECT_EQ(next.sequence, 2U);
  Bytes bytes{};
  std::ranges::copy(encode(*last, seed, slot_of_test), bytes.begin() + half_offset(last->sequence));
  std::ranges::copy(encode(next, seed, slot_of_test), bytes.begin() + half_offset(next.sequence));
  EXPECT_EQ(examine_slot(bytes, seed, slot_of_test).record->bytes, 2);
}

}  // namespace
}  // namespace sheaf::format::journal_test
