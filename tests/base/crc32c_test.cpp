// Tests CRC32C with the test vectors of RFC 3720. Compares every implementation with the definition.
#include "base/crc32c.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

namespace sheaf::crc32c_test {
namespace {

// Returns the sums of the first n bytes after bytes with the sum `start`, for n from 0 to all.
std::vector<uint32_t> by_definition(uint32_t start, std::span<const std::byte> bytes) {
  std::vector<uint32_t> sums = {start};
  uint32_t state = ~start;
  for (const std::byte b : bytes) {
    state ^= static_cast<uint32_t>(b);
    for (int bit = 0; bit < 8; ++bit) state = (state >> 1) ^ (state & 1 ? 0x82f63b78 : 0);
    sums.push_back(~state);
  }
  return sums;
}

std::vector<std::byte> random_bytes(size_t count) {
  std::mt19937 random(9);
  std::vector<std::byte> bytes(count);
  for (auto& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

TEST(Crc32c, HasTheValuesOfRfc3720) {
  const std::string digits = "123456789";
  EXPECT_EQ(crc32c(0, std::as_bytes(std::span(digits))), 0xe3069283u);
  EXPECT_EQ(crc32c(0, std::vector<std::byte>(32, std::byte{0})), 0x8a9136aau);
  EXPECT_EQ(crc32c(0, std::vector<std::byte>(32, std::byte{0xff})), 0x62a8ab43u);
  EXPECT_EQ(crc32c(0, {}), 0u);
}

TEST(Crc32c, SumsOfTwoPartsAreJoined) {
  const std::vector<std::byte> bytes = random_bytes(70000);
  const auto all = std::span<const std::byte>(bytes);
  for (const size_t first : std::initializer_list<size_t>{0, 1, 7, 4096, 65536, 69999, 70000}) {
    const uint32_t second = crc32c(0, all.subspan(first));
    EXPECT_EQ(crc32c_joined(crc32c(0, all.first(first)), second, static_cast<int64_t>(bytes.size() - first)),
              crc32c(0, all))
        << first;
  }
}

TEST(Crc32c, IsTheSameInEveryWayForAllLengthsAndAlignments) {
  const std::vector<std::byte> bytes = random_bytes(4096 + 64);
  for (size_t from = 0; from < 64; from += 1 + from / 8) {
    const auto all = std::span<const std::byte>(bytes).subspan(from, 4096);
    const auto start = static_cast<uint32_t>(0x9E3779B9u * from);
    const std::vector<uint32_t> expected = by_definition(start, all);
    for (const Crc32cWay& way : crc32c_ways())
      for (size_t n = 0; n <= all.size(); ++n)
        ASSERT_EQ(~way.update(~start, all.data(), n), expected[n])
            << way.name << ", " << n << " bytes from " << from;
  }
}

// Ways process large buffers in blocks of their own: 4032, 16368 and 256 bytes.
TEST(Crc32c, IsTheSameInEveryWayAroundBlocks) {
  const std::vector<std::byte> bytes = random_bytes(80000);
  const std::vector<uint32_t> expected = by_definition(0, bytes);
  for (const Crc32cWay& way : crc32c_ways())
    for (const size_t block : std::initializer_list<size_t>{256, 4032, 16368, 16384, 65536})
      for (size_t end = block; end <= bytes.size(); end += block)
        for (size_t n : {end - 8, end - 1, end, end + 1, end + 255, end + 4033}) {
          n = std::min(n, bytes.size());
          ASSERT_EQ(~way.update(~0u, bytes.data(), n), expected[n]) << way.name << ", " << n << " bytes";
        }
}

TEST(Crc32c, ContinuesAfterAnySplitInEveryWay) {
  const std::vector<std::byte> bytes = random_bytes(70000);
  const uint32_t expected = by_definition(0, bytes).back();
  std::mt19937 random(5);
  for (const Crc32cWay& way : crc32c_ways())
    for (int split = 0; split < 300; ++split) {
      const size_t first = split < 100 ? static_cast<size_t>(split) : random() % bytes.size();
      const uint32_t state = way.update(~0u, bytes.data(), first);
      ASSERT_EQ(~way.update(state, bytes.data() + first, bytes.size() - first), expected)
          << way.name << ", split at " << first;
    }
}

}  // namespace
}  // namespace sheaf::crc32c_test
