// Tests the result of every call on an invalid handle, and on a handle of the wrong kind.
#include "api/api_fixture.hpp"

// The library exports this function, but no header declares it.
extern "C" sion_io_stat_t* sion_get_io_info_buddy(int sid, int roles, int flag);

namespace sheaf::test::invalid_handle_test {
namespace {

void expect_invalid(int sid) {
  SCOPED_TRACE("handle " + std::to_string(sid));
  char byte = 0;
  int i = 0;
  sion_int64 n = 0;
  sion_int64* array = nullptr;
  sion_int32* pairs = nullptr;
  FILE* fp = nullptr;
  EXPECT_EQ(sion_fwrite(&byte, 1, 1, sid), 0u);
  EXPECT_EQ(sion_fread(&byte, 1, 1, sid), 0u);
  EXPECT_EQ(sion_fprintf(sid, "%d", 1), -1);
  EXPECT_EQ(sion_feof(sid), -1);
  EXPECT_EQ(sion_bytes_avail_in_block(sid), -1);
  EXPECT_EQ(sion_bytes_avail_in_chunk(sid), -1);
  EXPECT_EQ(sion_get_position(sid), -1);
  EXPECT_EQ(sion_get_bytes_written(sid), -1);
  EXPECT_EQ(sion_get_bytes_read(sid), -1);
  EXPECT_EQ(sion_get_number_of_files(sid), -1);
  EXPECT_EQ(sion_get_filenumber(sid), -1);
  EXPECT_EQ(sion_is_serial_opened(sid), -1);
  EXPECT_EQ(sion_using_hints(sid), -1);
  EXPECT_EQ(sion_get_file_endianness(sid), -1);
  EXPECT_EQ(sion_get_sizeof(sid, &i, &i), -1);
  EXPECT_EQ(sion_get_fd(sid), -1);
  EXPECT_EQ(sion_get_fp(sid), nullptr);
  EXPECT_EQ(sion_endianness_swap_needed(sid), 1);
  EXPECT_EQ(sion_get_keyval_mode(sid), SION_KEYVAL_UNKNOWN);
  EXPECT_EQ(sion_flush(sid), 0);
  EXPECT_EQ(sion_ensure_free_space(sid, 1), 0);
  EXPECT_EQ(sion_close(sid), 0);
  EXPECT_EQ(_sion_close_sid(sid), 0);
  EXPECT_EQ(sion_set_fp_closed(sid), 0);
  EXPECT_EQ(sion_set_second_fp(sid, stderr), 0);
  EXPECT_EQ(sion_unset_second_fp(sid), 0);
  EXPECT_EQ(sion_optimize_fp_buffer(sid), 0);
  EXPECT_EQ(sion_get_locations(sid, &i, &i, &n, &n, &array, &array, &array, &array), 0);
  EXPECT_EQ(sion_get_current_location(sid, &i, &n, &i, &array), 0);
  EXPECT_EQ(sion_get_current_locations(sid, &i, &array, &array), 0);
  EXPECT_EQ(sion_get_mapping(sid, &i, &pairs, &i), 0);
  EXPECT_EQ(sion_dup(sid, SION_DUP_ALL, 0, 0), -1);
  EXPECT_EQ(sion_dedup(sid), -1);
  EXPECT_EQ(sion_generic_parclose(sid), -1);
  EXPECT_EQ(sion_generic_parclose_mapped(sid), -1);
  EXPECT_EQ(sion_generic_parreinit(sid, 1), -1);
  constexpr auto failed = static_cast<size_t>(-1);
  EXPECT_EQ(sion_coll_fwrite(&byte, 1, 1, sid), failed);
  EXPECT_EQ(sion_coll_fread(&byte, 1, 1, sid), failed);
  EXPECT_EQ(sion_get_io_info(sid), nullptr);
  EXPECT_EQ(sion_get_io_info_by_spec(sid, SION_ROLE_COLLECTOR, 0), nullptr);
  EXPECT_EQ(sion_get_io_info_buddy(sid, SION_ROLE_COLLECTOR, 0), nullptr);
  EXPECT_EQ(sion_seek(sid, 0, 0, 0), 0);
  EXPECT_EQ(sion_seek_fp(sid, 0, 0, 0, &fp), 0);
}

TEST_F(Api, InvalidHandlesGetTheDocumentedValues) {
  for (const int sid : {-1, -2, 12345, 1 << 16, INT_MAX, INT_MIN}) expect_invalid(sid);
}

TEST_F(Api, AClosedHandleIsInvalid) {
  const std::string file = example();
  const int sid = open(file);
  ASSERT_GE(sid, 0);
  EXPECT_EQ(sion_close(sid), 1);
  expect_invalid(sid);
  EXPECT_TRUE(last_error_has("invalid file identifier " + std::to_string(sid)));
}

TEST_F(Api, WritingOnAHandleOpenedForReading) {
  const std::string file = example();
  std::ifstream before(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(before), {}};
  for (const int sid : {open(file), open_rank(file, 0)}) {
    char byte = 0;
    EXPECT_EQ(sion_fread(&byte, 1, 1, sid), 1u);
    EXPECT_EQ(sion_fwrite("x", 1, 1, sid), 0u);
    EXPECT_TRUE(last_error_has("open for reading"));
    EXPECT_EQ(sion_ensure_free_space(sid, 1), 0);
    EXPECT_EQ(sion_get_bytes_written(sid), -1);
    EXPECT_EQ(sion_get_bytes_read(sid), 1);
    EXPECT_EQ(sion_close(sid), 1);
  }
  std::ifstream after(file, std::ios::binary);
  EXPECT_EQ(bytes, std::string(std::istreambuf_iterator<char>(after), {}));
}

TEST_F(Api, ReadingOnAHandleOpenedForWriting) {
  const int sid = create(path("a"), {100});
  char byte = 0;
  EXPECT_EQ(sion_fwrite("x", 1, 1, sid), 1u);
  EXPECT_EQ(sion_fread(&byte, 1, 1, sid), 0u);
  EXPECT_TRUE(last_error_has("open for writing"));
  EXPECT_EQ(sion_get_bytes_read(sid), -1);
  EXPECT_EQ(sion_feof(sid), 1);
  EXPECT_EQ(sion_bytes_avail_in_block(sid), 0);
  EXPECT_EQ(sion_get_bytes_written(sid), 1);
  EXPECT_EQ(sion_close(sid), 1);
}

TEST_F(Api, ANumberIsNotGivenOutAgainAtOnce) {
  const std::string file = example();
  const int first = open(file);
  sion_close(first);
  const int second = open(file);
  EXPECT_NE(first, second);
  sion_close(second);
}

}  // namespace
}  // namespace sheaf::test::invalid_handle_test
