// Tests CRC32C with the test vectors of RFC 3720. Compares every implementation with the definition for all
// lengths and alignments.
#include "base/crc32c.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace sheaf::crc32c_test {
namespace {

uint32_t by_definition(uint32_t sum, std::span<const std::byte> bytes) {
  uint32_t state = ~sum;
  for (const std::byte b : bytes) {
    state ^= static_cast<uint32_t>(b);
    for (int bit = 0; bit < 8; ++bit) state = (state >> 1) ^ (state & 1 ? 0x82f63b78 : 0);
  }
  return ~state;
}

TEST(Crc32c, HasTheValuesOfRfc3720) {
  const std::string digits = "123456789";
  EXPECT_EQ(crc32c(0, std::as_bytes(std::span(digits))), 0xe3069283u);
  EXPECT_EQ(crc32c(0, std::vector<std::byte>(32, std::byte{0})), 0x8a9136aau);
  EXPECT_EQ(crc32c(0, std::vector<std::byte>(32, std::byte{0xff})), 0x62a8ab43u);
  EXPECT_EQ(crc32c(0, {}), 0u);
}

TEST(Crc32c, SumsOfTwoPartsAreJoined) {
  std::mt19937 random(9);
  std::vector<std::byte> bytes(70000);
  for (auto& b : bytes) b = static_cast<std::byte>(random());
  const auto all = std::span<const std::byte>(bytes);
  for (const size_t first : {0, 1, 7, 4096, 65536, 69999, 70000}) {
    const uint32_t second = crc32c(0, all.subspan(first));
    EXPECT_EQ(crc32c_joined(crc32c(0, all.first(first)), second, static_cast<int64_t>(bytes.size() - first)),
              crc32c(0, all))
        << first;
  }
}

TEST(Crc32c, IsTheSameInEveryWay) {
  std::mt19937 random(7);
  std::vector<std::byte> bytes(20000);
  for (auto& b : bytes) b = static_cast<std::byte>(random());
  std::vector<size_t> lengths{4031, 4032, 4033, 8064, 12100, 19990};
  for (size_t n = 0; n < 1100; ++n) lengths.push_back(n);
  for (const Crc32cWay& way : crc32c_ways())
    for (const size_t n : lengths)
      for (const size_t from : {size_t{0}, n % 10}) {
        const auto piece = std::span<const std::byte>(bytes).subspan(from, n);
        const auto start = static_cast<uint32_t>(random());
        ASSERT_EQ(~way.update(~start, piece.data(), piece.size()), by_definition(start, piece))
            << way.name << ", " << n << " bytes";
      }
}

TEST(Crc32c, GoesOnWhereItStopped) {
  std::vector<std::byte> bytes(5000, std::byte{0x5a});
  const std::span<const std::byte> all = bytes;
  EXPECT_EQ(crc32c(crc32c(0, all.first(1234)), all.subspan(1234)), crc32c(0, all));
}

}  // namespace
}  // namespace sheaf::crc32c_test
