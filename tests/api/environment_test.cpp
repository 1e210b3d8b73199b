// Tests environment variables that change what the calls do or print.
#include "support/environment.hpp"
#include "api/api_fixture.hpp"

namespace sheaf::test::environment_test {
namespace {

std::string message_of_an_error(int rank) {
  sheaf_print_errors(1);
  ::testing::internal::CaptureStderr();
  char name[] = "/nonexistent/file";
  EXPECT_EQ(sion_open_rank(name, "rb", nullptr, nullptr, &rank, nullptr), -1);
  sheaf_print_errors(0);
  return ::testing::internal::GetCapturedStderr();
}

TEST_F(Api, BufferSizeOfTheEnvironment) {
  const auto bytes_on_disk = [&](const char* set) {
    const EnvironmentVariable size("SION_BUFFERSIZE", set);
    const int sid = create(path(set), {10000}, 512);
    for (int i = 0; i < 10; ++i) EXPECT_EQ(sion_fwrite(content(0, 0, 99).data(), 1, 99, sid), 99u);
    const auto after = std::filesystem::file_size(path(set));
    EXPECT_EQ(sion_close(sid), 1);
    constexpr uintmax_t data_start = 1536;
    return after > data_start ? after - data_start : 0;
  };
  EXPECT_EQ(bytes_on_disk("0"), 990u) << "no buffer";
  EXPECT_EQ(bytes_on_disk("100000"), 0u) << "all is in the buffer";
  const auto with_a_block = bytes_on_disk("-1");
  EXPECT_TRUE(with_a_block >= 512 && with_a_block < 990) << with_a_block;
}

TEST_F(Api, KeyValueModeOfTheEnvironment) {
  const EnvironmentVariable keyval("SION_KEYVALUE_MODE", "inline");
  int sid = create(path("a"), {100});
  EXPECT_EQ(sion_get_keyval_mode(sid), SION_KEYVAL_INLINE);
  EXPECT_EQ(sion_close(sid), 1);
  sid = create(path("b"), {100}, 512, nullptr, "wb,keyval=none");
  EXPECT_EQ(sion_get_keyval_mode(sid), SION_KEYVAL_NONE);
  EXPECT_EQ(sion_close(sid), 1);
}

TEST_F(Api, HintsAreRequestedByTheEnvironment) {
  const std::string file = example();
  const auto hints = [&] {
    const int sid = open(file);
    const int using_hints = sion_using_hints(sid);
    EXPECT_EQ(sion_close(sid), 1);
    return using_hints;
  };
  EXPECT_EQ(hints(), 0);
  for (const char* type : {"SION_HINT_TYPE_GPFS", "SION_HINT_TYPE_LINUX"}) {
    const EnvironmentVariable on("SION_HINTS", "1");
    const EnvironmentVariable which(type, "1");
    EXPECT_EQ(hints(), 1);
  }
  const EnvironmentVariable off("SION_HINTS", "0");
  EXPECT_EQ(hints(), 0);
}

TEST_F(Api, CacheSizeHasNoEffect) {
  const EnvironmentVariable size("SION_CACHESIZE", "1");
  const int sid = open(example());
  EXPECT_EQ(sion_bytes_avail_in_block(sid), 100);
  EXPECT_EQ(sion_close(sid), 1);
}

TEST_F(Api, MessagesOfOneRankOnly) {
  EXPECT_NE(message_of_an_error(3).find("SION_ERROR_RETURN on rank 3, rc=-1: sion_open_rank: "),
            std::string::npos);
  const EnvironmentVariable rank("SION_ERROR_MSG_RANK", "3");
  EXPECT_NE(message_of_an_error(3), "");
  EXPECT_EQ(message_of_an_error(4), "");
  EXPECT_NE(message_of_an_error(-1), "") << "of no rank";
}

}  // namespace
}  // namespace sheaf::test::environment_test
