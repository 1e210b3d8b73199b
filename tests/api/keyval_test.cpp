// Tests key-value records through the C interface: reading by key, and the position after each read.
#include "api/keyval_fixture.hpp"

namespace sheaf::test::keyval_test {
namespace {

TEST_F(Keyval, ARecordAtATime) {
  for (const char* mode : {"wb,keyval", "wb,keyval,posix", "wb,keyval=inline,buffer=0"}) {
    const std::string file = records(mode);
    for (const int sid : {open(file), open_rank(file, 0), open(file, nullptr, "rb,posix,buffer=0")}) {
      EXPECT_EQ(sion_get_keyval_mode(sid), SION_KEYVAL_INLINE);
      EXPECT_EQ(get(sid, 7), "abc");
      EXPECT_EQ(get(sid, 7), "defgh");
      EXPECT_EQ(get(sid, 7), "");
      EXPECT_EQ(get(sid, UINT64_MAX), "x");
      EXPECT_EQ(get(sid, 9), "");
      EXPECT_EQ(get(sid, 8), "") << "a key that is not there";
      EXPECT_EQ(sion_close(sid), 1);
    }
  }
}

TEST_F(Keyval, AFailedOrOddReadLeavesThePositionWhereItWas) {
  const int sid = open(records());
  EXPECT_EQ(sion_fread_key(nullptr, 7, 1, 3, sid), 0u);
  char byte;
  EXPECT_EQ(sion_fread_key(&byte, 7, 0, 3, sid), 0u);
  EXPECT_EQ(sion_fread_key(&byte, 7, 1, 0, sid), 0u);
  EXPECT_EQ(get(sid, 7, 5, 2), "ab") << "whole items only";
  EXPECT_EQ(get(sid, 7, 5, 2), "") << "the rest of the record is smaller than an item";
  EXPECT_EQ(get(sid, 7), "c");
  EXPECT_EQ(get(sid, 7, 2), "de");
  EXPECT_EQ(get(sid, 7, 2), "fg");
  EXPECT_EQ(get(sid, 7, 2), "h");
  EXPECT_EQ(sion_close(sid), 1);
}

TEST_F(Keyval, TheIteratorFindsAllRecordsInWriteOrder) {
  const int sid = open(records());
  const std::vector<std::pair<uint64_t, size_t>> expected{{7, 3}, {UINT64_MAX, 1}, {7, 0}, {7, 5}, {9, 0}};
  for (int pass = 0; pass < 2; ++pass) {
    EXPECT_EQ(sion_fread_key_iterator_reset(sid), 1);
    std::vector<std::pair<uint64_t, size_t>> found;
    std::string values;
    uint64_t key;
    size_t size;
    while (sion_fread_key_iterator_next(sid, &key, &size) == 1) {
      found.emplace_back(key, size);
      values += get(sid, key, size);
    }
    EXPECT_EQ(found, expected);
    EXPECT_EQ(values, "abcxdefgh") << "it moves each key to the record that it names";
  }
  EXPECT_EQ(sion_fread_key_iterator_next(sid, nullptr, nullptr), 0);
  EXPECT_TRUE(last_error_has("argument key"));
  EXPECT_EQ(sion_close(sid), 1);
}

TEST_F(Keyval, KeysAndStatisticsAsFarAsScanned) {
  const int sid = open(records());
  sion_key_stat_t stat{};
  uint64_t key = 5;
  EXPECT_EQ(sion_key_list_iterator_next(sid, &key), 0);
  EXPECT_EQ(key, 0u);
  EXPECT_EQ(sion_key_get_stat(sid, 7, &stat), 0);
  EXPECT_EQ(get(sid, 7), "abc");
  EXPECT_EQ(sion_key_get_stat(sid, 7, &stat), 1);
  EXPECT_EQ(stat.num_blocks, 1);
  EXPECT_EQ(sion_key_get_stat(sid, 9, &stat), 0);

  EXPECT_EQ(sion_key_full_scan(sid), 1);
  EXPECT_EQ(sion_key_full_scan(sid), 1);
  EXPECT_EQ(sion_key_list_iterator_reset(sid), 1);
  std::vector<uint64_t> keys;
  while (sion_key_list_iterator_next(sid, &key) == 1) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<uint64_t>{7, UINT64_MAX, 9}));
  EXPECT_EQ(sion_key_get_stat(sid, 7, &stat), 1);
  EXPECT_EQ(stat.key, 7u);
  EXPECT_EQ(stat.num_blocks, 3);
  EXPECT_EQ(stat.total_size, 8);
  EXPECT_EQ(sion_key_get_stat(sid, 9, &stat), 1);
  EXPECT_EQ(stat.num_blocks, 1);
  EXPECT_EQ(stat.total_size, 0);
  EXPECT_EQ(sion_key_get_stat(sid, 9, nullptr), 0);
  EXPECT_EQ(sion_key_list_iterator_next(sid, nullptr), 0);
  EXPECT_EQ(get(sid, 7), "defgh");
  EXPECT_EQ(sion_close(sid), 1);
}

TEST_F(Keyval, SeekingAKey) {
  const int sid = open(records());
  const auto seek = [&](int entry, sion_int64 position, uint64_t key = 7) {
    return sion_seek_key(sid, key, entry, position);
  };
  EXPECT_EQ(seek(2, 1), 1) << "without having read anything";
  EXPECT_EQ(get(sid, 7, 2), "ef");
  EXPECT_EQ(seek(SION_CURRENT_BLK, 4), 1);
  EXPECT_EQ(get(sid, 7), "h");
  EXPECT_EQ(seek(SION_CURRENT_BLK, 0), 1) << "a finished record is current until the next one is begun";
  EXPECT_EQ(seek(SION_CURRENT_BLK, SION_CURRENT_POS), 1);
  EXPECT_EQ(get(sid, 7), "defgh");
  EXPECT_EQ(seek(SION_CURRENT_BLK, SION_CURRENT_POS), 0) << "nothing is left";
  for (const int at : {0, 2, 3, 7}) {
    EXPECT_EQ(seek(SION_ABSOLUTE_POS, at), 1);
    EXPECT_EQ(get(sid, 7, 1), std::string("abcdefgh").substr(static_cast<size_t>(at), 1));
  }
  EXPECT_EQ(seek(0, 1), 1);
  const std::pair<int, sion_int64> impossible[] = {{0, 3},
                                                   {0, -1},
                                                   {1, 0},
                                                   {2, 5},
                                                   {3, 0},
                                                   {0, SION_CURRENT_POS},
                                                   {-1, 0},
                                                   {SION_END_POS, 0},
                                                   {SION_ABSOLUTE_POS, 8},
                                                   {SION_ABSOLUTE_POS, -1},
                                                   {SION_CURRENT_BLK, 3},
                                                   {SION_ABSOLUTE_POS, SION_CURRENT_POS}};
  for (const auto& [entry, position] : impossible) {
    EXPECT_EQ(seek(entry, position), 0) << entry << ", " << position;
    EXPECT_TRUE(last_error_has("key 7 has no byte"));
  }
  EXPECT_EQ(seek(0, 0, 8), 0) << "unknown key";
  EXPECT_EQ(seek(SION_CURRENT_BLK, SION_CURRENT_POS, 8), 0);
  EXPECT_EQ(get(sid, 7), "bc") << "nothing was changed";
  EXPECT_EQ(sion_close(sid), 1);
}

TEST_F(Keyval, EveryTaskKeepsItsPositions) {
  const int sid = open(records());
  EXPECT_EQ(get(sid, 7, 2), "ab");
  EXPECT_EQ(select(sid, 2), 1);
  EXPECT_EQ(get(sid, 7, 1), "t");
  EXPECT_EQ(select(sid, 1), 1) << "a task without records can be selected";
  EXPECT_EQ(get(sid, 7), "");
  EXPECT_EQ(sion_key_full_scan(sid), 1);
  EXPECT_EQ(select(sid, 0), 1);
  EXPECT_EQ(get(sid, 7), "c");
  EXPECT_EQ(sion_key_full_scan(sid), 1);
  EXPECT_EQ(select(sid, 2), 1);
  EXPECT_EQ(get(sid, 7), "wo");
  EXPECT_EQ(get(sid, 7), "");
  EXPECT_EQ(select(sid, 0), 1) << "also after it was scanned to its end";
  EXPECT_EQ(sion_seek(sid, 2, 77, 5), 1) << "block and position do not count";
  EXPECT_EQ(sion_seek(sid, 3, SION_CURRENT_BLK, SION_CURRENT_POS), 0);
  EXPECT_EQ(select(sid, 0), 1);
  EXPECT_EQ(get(sid, 7), "defgh");
  EXPECT_EQ(sion_close(sid), 1);
}

TEST_F(Keyval, ReadingBesideTheStreamOfTheProgram) {
  const std::string file = records();
  FILE* fp = nullptr;
  const int sid = open(file, &fp);
  EXPECT_EQ(get(sid, 7), "abc");
  char bytes[30];
  EXPECT_EQ(std::fread(bytes, 1, 5, fp), 5u);
  EXPECT_EQ(get(sid, UINT64_MAX), "x");
  EXPECT_EQ(sion_seek(sid, 0, 0, 0), 1);
  EXPECT_EQ(sion_fread(bytes, 1, 16, sid), 16u) << "the raw stream";
  EXPECT_EQ(get(sid, 7, 2), "de");
  EXPECT_EQ(select(sid, 2), 1);
  EXPECT_EQ(get(sid, 7), "two");
  EXPECT_EQ(select(sid, 0), 1);
  EXPECT_EQ(get(sid, 7), "fgh");
  EXPECT_EQ(sion_close(sid), 1);
}

TEST_F(Keyval, RecordsFillEveryChunkButTheLast) {
  const std::string file = path("filled");
  const int sid = create(file, {10}, 1, nullptr, "wb,keyval");
  EXPECT_EQ(put(sid, 1, std::string(50, 'a')), 50u) << "larger than a chunk";
  EXPECT_EQ(put(sid, 2, "b"), 1u);
  EXPECT_EQ(sion_get_bytes_written(sid), 83);
  EXPECT_EQ(sion_close(sid), 1);
  const int back = open(file);
  int blocks = 0;
  sion_int64* sizes = nullptr;
  EXPECT_EQ(sion_get_current_location(back, nullptr, nullptr, &blocks, &sizes), 1);
  ASSERT_EQ(blocks, 9);
  for (int b = 0; b < 9; ++b) EXPECT_EQ(sizes[b], b < 8 ? 10 : 3);
  EXPECT_EQ(get(back, 2), "b");
  EXPECT_EQ(get(back, 1), std::string(50, 'a'));
  EXPECT_EQ(sion_feof(back), 1);
  EXPECT_EQ(sion_close(back), 1);
}

}  // namespace
}  // namespace sheaf::test::keyval_test
