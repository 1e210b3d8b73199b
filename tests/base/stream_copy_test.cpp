// A copy past the caches is a copy, at all lengths and alignments, and touches nothing else.
#include "base/stream_copy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace sheaf::stream_copy_test {
namespace {

TEST(StreamCopy, IsACopyAndTouchesNothingElse) {
  std::mt19937 random(11);
  std::vector<std::byte> from(2000);
  for (auto& b : from) b = static_cast<std::byte>(random());
  for (size_t n = 0; n <= 400; n += n < 200 ? 1 : 37)
    for (size_t source = 0; source < 3; ++source)
      for (size_t target = 0; target < 130; target += 1 + target % 7) {
        std::vector<std::byte> to(700, std::byte{0x5a});
        copy_past_caches(to.data() + target, std::span(from).subspan(source, n));
        ASSERT_TRUE(std::equal(to.begin() + static_cast<long>(target), to.begin() + static_cast<long>(target + n),
                               from.begin() + static_cast<long>(source)))
            << n << " bytes to " << target;
        ASSERT_EQ(std::ranges::count(std::span(to).first(target), std::byte{0x5a}), static_cast<long>(target));
        ASSERT_EQ(std::ranges::count(std::span(to).subspan(target + n), std::byte{0x5a}), static_cast<long>(700 - target - n));
      }
}

}  // namespace
}  // namespace sheaf::stream_copy_test
