#include "format/save_record.hpp"

#include <gtest/gtest.h>

namespace sheaf::format {
namespace {

SaveHead head() {
  SaveHead h{.number = 0x0123456789abcdef,
             .nfiles = 3,
             .host = 1,
             .hosts = 2,
             .tasks = 2,
             .shares_files = 1,
             .since = 1'700'000'000'000'000,
             .marks = {{1, 4096, {}}, {2, int64_t{1} << 40, {}}}};
  h.identity[0] = std::byte{7};
  h.marks[1].pointer[11] = std::byte{9};
  return h;
}

const std::vector<SaveSlot> tasks{{.task = 5, .bytes = 100}, {.task = 6, .bytes = 1}};

TEST(SaveRecord, IsReadAsItWasWritten) {
  std::vector<std::byte> bytes = encode_save_record(head(), tasks);
  const SaveSlot failed{SaveProgress::failed, 4, 28, 6, 3, 1, 0, std::string(500, 'x')};
  const auto slot = encode(failed);
  std::ranges::copy(slot, bytes.begin() + save_slot_offset(2));
  const auto record = decode_save_record(bytes, "r");
  ASSERT_TRUE(record);
  EXPECT_EQ(record->head, head());
  EXPECT_EQ(record->host, SaveSlot{});
  EXPECT_EQ(record->tasks[0], tasks[0]);
  EXPECT_EQ(record->tasks[1].state, SaveProgress::failed);
  EXPECT_EQ(record->tasks[1].errno_value, 28);
  EXPECT_EQ(record->tasks[1].message, std::string(159, 'x'));
}

TEST(SaveRecord, SlotsMayHaveMarks) {
  std::vector<std::byte> bytes = encode_save_record(head(), tasks);
  SaveSlot marked{.state = SaveProgress::synced, .task = 5, .message = std::string(500, 'x')};
  marked.mark = CompletionMark{.file = 2, .at = int64_t{1} << 40, .pointer = {std::byte{3}}};
  std::ranges::copy(encode(marked), bytes.begin() + save_slot_offset(1));
  const auto record = decode_save_record(bytes, "r");
  ASSERT_TRUE(record);
  EXPECT_EQ(record->tasks[0].mark, marked.mark);
  std::vector<CompletionMark> all = head().marks;
  all.push_back(*marked.mark);
  EXPECT_EQ(record->marks(), all);
  marked.mark->file = 3;  // there are three files
  std::ranges::copy(encode(marked), bytes.begin() + save_slot_offset(1));
  EXPECT_THROW(decode_save_record(bytes, "r"), Error);
}

TEST(SaveRecord, ATornSlotCountsAsCaptured) {
  std::vector<std::byte> bytes = encode_save_record(head(), tasks);
  auto slot = encode(SaveSlot{.state = SaveProgress::synced});
  std::copy(slot.begin(), slot.begin() + 20, bytes.begin() + save_slot_offset(1));
  EXPECT_EQ(decode_save_record(bytes, "r")->tasks[0].state, SaveProgress::captured);
}

TEST(SaveRecord, DamageIsFound) {
  const std::vector<std::byte> sound = encode_save_record(head(), tasks);
  const int64_t marks = save_slot_offset(3);
  for (size_t at = 0; at < sound.size(); ++at) {
    if (at >= size_t{save_unit} && static_cast<int64_t>(at) < marks) continue;  // slots
    std::vector<std::byte> bytes = sound;
    bytes[at] ^= std::byte{1};
    try {
      EXPECT_FALSE(decode_save_record(bytes, "r")) << at;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::damaged) << at;
    }
  }
  for (size_t length = 8; length < sound.size(); length += 13)
    EXPECT_THROW(decode_save_record(std::span(sound).first(length), "r"), Error) << length;
  EXPECT_FALSE(decode_save_record({}, "r"));
}

TEST(SaveRecord, HasANameForEachHost) { EXPECT_EQ(save_record_name("a.tmp", 12), "a.tmp.save.000012"); }

}  // namespace
}  // namespace sheaf::format
