// Compares stripes with a byte-by-byte model.
#include "layout/stripes.hpp"

#include <gtest/gtest.h>

#include <random>

#include "base/error.hpp"

namespace sheaf::layout::stripes_test {
namespace {

TEST(Stripes, ThePaperFigureFour) {
  const Stripes stripes{5, 2};
  const std::string text = "Hello*World!*Hello*World!*Hello*World!*";
  std::string subfile[2];
  for (size_t i = 0; i < text.size(); ++i) subfile[stripes.subfile_of(static_cast<int64_t>(i))] += text[i];
  EXPECT_EQ(subfile[0], "Hellod!*Heorld!o*Wor");
  EXPECT_EQ(subfile[1], "*Worlllo*W*Hellld!*");
  EXPECT_EQ(stripes.subfile_size(0, 39), 20);
  EXPECT_EQ(stripes.subfile_size(1, 39), 19);
}

TEST(Stripes, EveryByteLivesInOnePlace) {
  for (int64_t unit = 1; unit <= 5; ++unit)
    for (int64_t count = 1; count <= 4; ++count) {
      const Stripes stripes{unit, count};
      std::vector<int64_t> sizes(static_cast<size_t>(count));
      for (int64_t offset = 0; offset < 70; ++offset) {
        const int64_t subfile = stripes.subfile_of(offset);
        auto& size = sizes[static_cast<size_t>(subfile)];
        EXPECT_EQ(stripes.logical(subfile, size), offset);
        ++size;
        EXPECT_EQ(stripes.logical_size(subfile, size), offset + 1);
        for (int64_t s = 0; s < count; ++s)
          EXPECT_EQ(stripes.subfile_size(s, offset + 1), sizes[static_cast<size_t>(s)]);
      }
    }
}

TEST(Stripes, AShareListsItsPiecesInTheOrderOfTheSubfile) {
  std::mt19937 random(7);
  const auto draw = [&](int most) { return static_cast<int64_t>(random() % static_cast<unsigned>(most)); };
  for (int round = 0; round < 20000; ++round) {
    const Stripes stripes{1 + draw(7), 1 + draw(5)};
    const int64_t offset = draw(90);
    const int64_t length = draw(120);
    int64_t all = 0;
    for (int64_t s = 0; s < stripes.count; ++s) {
      const Share share = stripes.share(s, offset, length);
      all += share.length;
      int64_t at = share.offset;
      for (const auto& run : share.pieces())
        for (int64_t piece = 0; piece < run.count; ++piece)
          for (int64_t i = 0; i < run.length; ++i, ++at) {
            const int64_t byte = run.offset + piece * run.stride + i;
            ASSERT_TRUE(byte >= offset && byte < offset + length);
            ASSERT_EQ(stripes.subfile_of(byte), s);
            ASSERT_EQ(stripes.logical(s, at), byte);
          }
      ASSERT_EQ(at, share.offset + share.length);
    }
    ASSERT_EQ(all, length);
  }
}

TEST(Stripes, LargeOffsetsAreRightOrRefused) {
  const Stripes stripes{200, 8};
  const int64_t far = int64_t{1} << 61;
  const Share share = stripes.share(3, far, 1600);
  EXPECT_EQ(share.length, 200);
  EXPECT_EQ(stripes.subfile_of(share.run[0].offset), 3);
  EXPECT_THROW(stripes.share(0, INT64_MAX - 5, 10), Error);
  EXPECT_THROW(stripes.logical(7, INT64_MAX / 2), Error);
  EXPECT_THROW(check_stripes({0, 3}), Error);
  EXPECT_THROW(check_stripes({-5, 3}), Error);
  EXPECT_THROW(check_stripes({5, 0}), Error);
  EXPECT_THROW(check_stripes({INT64_MAX / 4, 8}), Error);
  EXPECT_NO_THROW(check_stripes({1, 1}));
}

}  // namespace
}  // namespace sheaf::layout::stripes_test
