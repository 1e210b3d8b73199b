// Tests that every codec encodes and decodes frames of random bytes, and detects damaged frames.
#include "format/codec/frame_coder.hpp"

#include <gtest/gtest.h>

#include <random>

#include "base/error.hpp"
#include "format/codec/shuffle.hpp"
#include "support/programs.hpp"

namespace sheaf::codec::frame_coder_test {
namespace {

using test::code_of;

using format::frame_head_size;
using format::FrameHead;
using Bytes = std::vector<std::byte>;

Bytes noise(size_t n, unsigned seed) {
  std::mt19937 random(seed);
  Bytes bytes(n);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

Bytes ramp(size_t n) {
  Bytes bytes(n);
  for (size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::byte>(i / 64);
  return bytes;
}

FrameHead head_of(std::span<const std::byte> frame) {
  const auto head = format::decode_frame(frame.first<frame_head_size>());
  EXPECT_TRUE(head);
  return head.value_or(FrameHead{});
}

Bytes decoded(std::span<const std::byte> frame) {
  const FrameHead head = head_of(frame);
  Bytes out(head.plain);
  FrameDecoder().decode(head, frame.subspan(frame_head_size), out, "a frame");
  return out;
}

const Codec zstd = find("zstd")->codec, lz4 = find("lz4")->codec, gzip = find("gzip")->codec;

const Compression ways[] = {{zstd, 1, 0},        {zstd, -5, 4}, {zstd, 19, 3}, {lz4, 0, 0}, {lz4, 0, 8},
                            {Codec::none, 0, 0}, {lz4, 0, 255}, {gzip, 1, 0},  {gzip, 9, 4}};

TEST(FrameCoder, BytesComeBackWhateverTheirNumber) {
  for (const Compression& how : ways) {
    FrameEncoder encoder(how);
    Scratch memory;
    std::mt19937 random(1);
    for (int i = 0; i < 60; ++i) {
      const size_t n = i < 10 ? static_cast<size_t>(i) : random() % 70000;
      const Bytes plain = i % 3 ? ramp(n) : noise(n, random());
      const auto frame = encoder.encode({i, 17 * i}, plain, memory);
      EXPECT_EQ(head_of(frame).at, (format::PlainPlace{i, 17 * i}));
      EXPECT_EQ(std::ssize(frame), head_of(frame).size());
      EXPECT_EQ(decoded(frame), plain) << name_of(how.codec) << " " << n;
    }
  }
}

TEST(FrameCoder, BytesThatDoNotBecomeFewerAreStoredAsTheyAre) {
  for (const Compression& how : ways) {
    Scratch memory;
    const Bytes plain = noise(5000, 3);
    const auto frame = FrameEncoder(how).encode({}, plain, memory);
    EXPECT_EQ(head_of(frame).codec, Codec::none);
    EXPECT_EQ(frame.size(), plain.size() + frame_head_size);
  }
}

TEST(FrameCoder, LargestFrame) {
  for (const Codec codec : {zstd, lz4, gzip}) {
    Scratch memory;
    const Bytes plain = ramp(format::largest_frame);
    const auto frame =
        FrameEncoder({codec, static_cast<int8_t>(find(codec)->has_levels()), 0}).encode({}, plain, memory);
    EXPECT_LT(frame.size(), plain.size() / 10);
    EXPECT_EQ(decoded(frame), plain);
  }
}

TEST(FrameCoder, DamageIsToldWithThePlace) {
  for (const Compression& how : ways) {
    Scratch memory;
    const Bytes plain = ramp(3000);
    const auto frame = FrameEncoder(how).encode({}, plain, memory);
    const FrameHead head = head_of(frame);
    for (size_t bit = 0; bit < 8 * size_t{head.stored}; bit += 7) {
      Bytes stored(frame.begin() + frame_head_size, frame.end());
      stored[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
      Bytes out(head.plain);
      try {
        FrameDecoder().decode(head, stored, out, "task 3");
        EXPECT_EQ(out, plain);  // the flipped bit has no meaning to the codec
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), Code::damaged);
        EXPECT_TRUE(std::string(e.what()).starts_with("task 3: ")) << e.what();
      }
    }
  }
}

// One decoder must decode frames of all codecs in turn, because an append may use another codec.
TEST(FrameCoder, CodecsMayChangeFromFrameToFrame) {
  FrameDecoder decoder;
  for (int round = 0; round < 3; ++round)
    for (const Compression& how : ways) {
      Scratch memory;
      const Bytes plain = ramp(5000 + static_cast<size_t>(round));
      const auto frame = FrameEncoder(how).encode({}, plain, memory);
      const FrameHead head = head_of(frame);
      Bytes out(head.plain);
      decoder.decode(head, frame.subspan(frame_head_size), out, "a frame");
      EXPECT_EQ(out, plain);
    }
}

TEST(FrameCoder, AGzipFrameIsOneWholeMember) {
  Compressor compressor(gzip, 6);
  const Bytes plain = ramp(3000);
  Bytes member(bound(gzip, plain.size()));
  member.resize(compressor.compress(plain, member));
  ASSERT_GT(member.size(), 18);
  EXPECT_EQ(member[0], std::byte{0x1f});
  EXPECT_EQ(member[1], std::byte{0x8b});
  Decompressor decompressor;
  const auto fits = [&](const Bytes& stored, size_t bytes) {
    Bytes out(bytes);
    return decompressor.decompress(gzip, stored, out);
  };
  EXPECT_TRUE(fits(member, plain.size()));
  EXPECT_FALSE(fits(member, plain.size() - 1));
  EXPECT_FALSE(fits(member, plain.size() + 1));
  Bytes longer = member;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(fits(longer, plain.size()));
  Bytes two = member;
  two.insert(two.end(), member.begin(), member.end());
  EXPECT_FALSE(fits(two, 2 * plain.size()));
  EXPECT_FALSE(fits({member.begin(), member.end() - 1}, plain.size()));
  Bytes wrong_sum = member;
  wrong_sum[wrong_sum.size() - 8] ^= std::byte{1};
  EXPECT_FALSE(fits(wrong_sum, plain.size()));
  EXPECT_TRUE(fits(member, plain.size()));
}

TEST(Codec, LevelsThatThereAre) {
  const auto fits = [](const char* name, int level) { return find(name)->level_fits(level); };
  EXPECT_TRUE(fits("gzip", 1) && fits("gzip", 9) && fits("zstd", -100) && fits("lz4", 0));
  EXPECT_FALSE(fits("gzip", 0) || fits("gzip", 10) || fits("lz4", 1));
}

TEST(Codec, HasTheNumberThatStandsOnDisk) {
  EXPECT_EQ(zstd, Codec{1});
  EXPECT_EQ(lz4, Codec{2});
  EXPECT_EQ(gzip, Codec{3});
  EXPECT_EQ(name_of(gzip), "gzip");
  EXPECT_EQ(name_of(Codec::none), "none");
}

TEST(Codec, OfANewerVersionIsRefused) {
  EXPECT_EQ(name_of(Codec{7}), "unknown");
  EXPECT_EQ(code_of([] { require(Codec{7}, "x.sion"); }), Code::unsupported);
  FrameHead head{.codec = Codec{7}, .stored = 4, .plain = 8};
  Bytes out(8);
  EXPECT_EQ(code_of([&] { FrameDecoder().decode(head, Bytes(4), out, "a frame"); }), Code::unsupported);
}

TEST(Shuffle, BringsBytesOfEqualWeightTogether) {
  const Bytes data = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4},
                      std::byte{5}, std::byte{6}, std::byte{7}};
  Bytes out(7);
  shuffle(data, 3, out);
  EXPECT_EQ(out, (Bytes{std::byte{1}, std::byte{4}, std::byte{2}, std::byte{5}, std::byte{3}, std::byte{6},
                        std::byte{7}}));
}

TEST(Shuffle, IsUndone) {
  for (const size_t n : {0, 1, 7, 8, 1000, 4096, 70001})
    for (const size_t element : {1, 2, 3, 4, 8, 12, 255}) {
      const Bytes data = noise(n, 5);
      Bytes there(n), back(n);
      shuffle(data, element, there);
      unshuffle(there, element, back);
      EXPECT_EQ(back, data) << n << " " << element;
    }
}

}  // namespace
}  // namespace sheaf::codec::frame_coder_test
