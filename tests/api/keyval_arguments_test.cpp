// Tests the key-value calls with invalid arguments, on handles of other kinds, and on files without records.
#include "api/keyval_fixture.hpp"

namespace sheaf::test::keyval_arguments_test {
namespace {

TEST_F(Keyval, WritingWithBadArguments) {
  const int sid = create(path("a"), {100, 0}, 1, nullptr, "wb,keyval");
  EXPECT_EQ(sion_fwrite_key("x", 1, 0, 1, sid), 0u);
  EXPECT_TRUE(last_error_has("size 0"));
  EXPECT_EQ(sion_fwrite_key("x", 1, 0, 0, sid), 0u);
  EXPECT_EQ(sion_fwrite_key(nullptr, 1, 1, 1, sid), key_error);
  EXPECT_TRUE(last_error_has("data"));
  EXPECT_EQ(sion_fwrite_key("x", 1, SIZE_MAX / 2, 3, sid), key_error);
  EXPECT_EQ(sion_fwrite_key("x", 1, INT64_MAX, 1, sid), key_error);
  EXPECT_EQ(sion_get_bytes_written(sid), 0);
  EXPECT_EQ(sion_fread_key_iterator_reset(sid), 0);
  EXPECT_TRUE(last_error_has("open for writing"));
  char byte;
  EXPECT_EQ(sion_fread_key(&byte, 1, 1, 1, sid), 0u);
  EXPECT_EQ(select(sid, 1), 1);
  EXPECT_EQ(put(sid, 1, "x"), key_error) << "no chunk to write to";
  EXPECT_EQ(put(sid, 1, ""), key_error);
  EXPECT_TRUE(last_error_has("chunksize=0"));
  EXPECT_EQ(sion_close(sid), 1);
}

void expect_no_keys(int sid) {
  char byte = 0;
  uint64_t key = 0;
  size_t size = 0;
  sion_key_stat_t stat;
  EXPECT_EQ(sion_fread_key(&byte, 1, 1, 1, sid), 0u);
  EXPECT_EQ(sion_fread_key_iterator_reset(sid), 0);
  EXPECT_EQ(sion_fread_key_iterator_next(sid, &key, &size), 0);
  EXPECT_EQ(sion_seek_key(sid, 1, 0, 0), 0);
  EXPECT_EQ(sion_key_full_scan(sid), 0);
  EXPECT_EQ(sion_key_list_iterator_reset(sid), 0);
  EXPECT_EQ(sion_key_list_iterator_next(sid, &key), 0);
  EXPECT_EQ(sion_key_get_stat(sid, 1, &stat), 0);
}

TEST_F(Keyval, InvalidHandles) {
  for (const int sid : {-1, 12345, INT_MAX, INT_MIN}) {
    expect_no_keys(sid);
    EXPECT_EQ(sion_fwrite_key("x", 1, 1, 1, sid), 0u);
    EXPECT_TRUE(last_error_has("invalid file identifier"));
  }
}

TEST_F(Keyval, FilesWithoutRecords) {
  const int writing = create(path("plain"), {100});
  EXPECT_EQ(sion_fwrite_key("x", 1, 1, 1, writing), key_error);
  EXPECT_TRUE(last_error_has("keyval"));
  expect_no_keys(writing);
  EXPECT_EQ(sion_fwrite("x", 1, 1, writing), 1u);
  EXPECT_EQ(sion_close(writing), 1);
  const int reading = open(path("plain"), nullptr, "rb,keyval");
  expect_no_keys(reading);
  EXPECT_TRUE(last_error_has("holds no key-value records"));
  EXPECT_EQ(sion_fwrite_key("x", 1, 1, 1, reading), key_error);
  char byte;
  EXPECT_EQ(sion_fread(&byte, 1, 1, reading), 1u);
  EXPECT_EQ(sion_close(reading), 1);
}

TEST_F(Keyval, AKeyvalWordThatDisagreesIsOnlyAMessage) {
  const std::string keyed = records();
  const std::string plain = example();
  sheaf_print_errors(1);
  const auto words = [&](const std::string& file, const char* mode) {
    ::testing::internal::CaptureStderr();
    const int sid = open(file, nullptr, mode);
    EXPECT_EQ(sion_close(sid), 1);
    const int rank = open_rank(file, 0, nullptr, mode);
    EXPECT_EQ(sion_close(rank), 1);
    const std::string said = ::testing::internal::GetCapturedStderr();
    return std::count(said.begin(), said.end(), '\n');
  };
  EXPECT_EQ(words(plain, "rb,keyval"), 2);
  EXPECT_EQ(words(keyed, "rb,keyval=none"), 2);
  for (const char* mode : {"rb", "rb,keyval=unknown"}) {
    EXPECT_EQ(words(plain, mode), 0);
    EXPECT_EQ(words(keyed, mode), 0);
  }
  EXPECT_EQ(words(plain, "rb,keyval=none"), 0);
  EXPECT_EQ(words(keyed, "rb,keyval"), 0);
}

TEST_F(Keyval, AFileWithoutTasks) {
  const int sid = create(path("none"), {}, 512, nullptr, "wb,keyval");
  EXPECT_EQ(put(sid, 1, "x"), key_error);
  EXPECT_EQ(sion_close(sid), 1);
  const int back = open(path("none"));
  expect_no_keys(back);
  EXPECT_EQ(sion_close(back), 1);
}

}  // namespace
}  // namespace sheaf::test::keyval_arguments_test
