// Tests encoding and decoding of extension header and trailer. Every flipped bit in them must be detected.
#include "format/extension.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace sheaf::format::extension_test {
namespace {

Extension sample() {
  Extension e;
  e.flags = flag_checksums | flag_compressed;
  e.codec = Codec{1};
  e.level = -3;
  e.shuffle = 8;
  for (size_t i = 0; i < e.identity.size(); ++i) e.identity[i] = static_cast<std::byte>(0xa0 + i);
  e.piece = default_piece;
  e.frame = 256 << 10;
  return e;
}

std::array<std::byte, fixed_size> header_with(const Extension& e) {
  Header h;
  h.fsblksize = 512;
  h.ntasks = 2;
  h.set_name("dir/a.sion");
  auto bytes = encode(h);
  put_extension(e, bytes);
  return bytes;
}

Trailer trailer() {
  Trailer t;
  t.pointer = {3, 8192};
  t.identity = sample().identity;
  t.plain_end = 9001;
  t.sections = {{SectionKind::groups, 9008, 32, 0}, {SectionKind::sums, 9040, 12, 0}};
  t.table = 9056;
  return t;
}

Code code_of(const std::function<void()>& act) {
  try {
    act();
    return Code::ok;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'x.sion'"), std::string::npos) << error.what();
    return error.code();
  }
}

TEST(Extension, ReturnsFromTheHeaderAndLeavesItReadable) {
  const auto bytes = header_with(sample());
  EXPECT_EQ(decode_extension(bytes, "x.sion"), sample());
  EXPECT_EQ(decode_header(bytes, "x.sion").name(), "dir/a.sion");
}

TEST(Extension, IsAbsentInAPlainHeader) {
  Header h;
  h.fsblksize = 1;
  EXPECT_EQ(decode_extension(encode(h), "x.sion"), std::nullopt);
  EXPECT_EQ(decode_extension(std::span<const std::byte>(), "x.sion"), std::nullopt);
}

TEST(Extension, IsLittleEndianAtItsPlaces) {
  const auto bytes = header_with(sample());
  EXPECT_EQ(bytes[1012], std::byte{0x89});
  EXPECT_EQ(bytes[1012 + 8], std::byte{1});
  EXPECT_EQ(bytes[1012 + 10], std::byte{1});
  EXPECT_EQ(bytes[1012 + 11], std::byte{1});
  EXPECT_EQ(bytes[1012 + 13], std::byte{0xfd});
  EXPECT_EQ(bytes[1012 + 34], std::byte{1});
}

TEST(Extension, FindsEveryFlippedBitOfTheFixedPart) {
  const auto good = header_with(sample());
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    auto bytes = good;
    bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    const bool in_magic = bit / 8 >= 1012 && bit / 8 < 1020;
    // Without the magic, the header looks like one without extensions. In a complete file, readers detect
    // the loss: a footer without an extension header is damage.
    if (in_magic) {
      EXPECT_EQ(decode_extension(bytes, "x.sion"), std::nullopt);
    } else {
      EXPECT_EQ(code_of([&] { decode_extension(bytes, "x.sion"); }), Code::damaged) << "bit " << bit;
    }
  }
}

TEST(Extension, IsThereWithItsFlagIfTheFileIsEncoded) {
  Header h;
  h.fsblksize = 512;
  h.encoded = true;
  auto bytes = encode(h);
  EXPECT_TRUE(says_compressed(bytes));
  EXPECT_EQ(code_of([&] { decode_extension(bytes, "x.sion"); }), Code::damaged);
  put_extension(sample(), bytes);
  EXPECT_EQ(decode_extension(bytes, "x.sion"), sample());
  Extension plain = sample();
  plain.flags &= static_cast<uint16_t>(~flag_compressed);
  put_extension(plain, bytes);
  EXPECT_EQ(code_of([&] { decode_extension(bytes, "x.sion"); }), Code::damaged);
  h.encoded = false;
  bytes = encode(h);
  EXPECT_FALSE(says_compressed(bytes));
  put_extension(sample(), bytes);  // the layout before the magic was introduced
  EXPECT_TRUE(says_compressed(bytes));
}

TEST(Extension, OfANewerVersionIsRefusedAndSmallUnknownFlagsAreIgnored) {
  Extension e = sample();
  e.flags |= 512;
  EXPECT_EQ(code_of([&] { decode_extension(header_with(e), "x.sion"); }), Code::unsupported);
  e.flags = flag_checksums | 4;
  EXPECT_EQ(code_of([&] { decode_extension(header_with(e), "x.sion"); }), Code::ok);
  e.piece = 1000;
  EXPECT_EQ(code_of([&] { decode_extension(header_with(e), "x.sion"); }), Code::damaged);
}

TEST(Extension, LeavesRoomForNamesOf959Bytes) {
  EXPECT_TRUE(extensible(std::string(959, 'a')));
  EXPECT_FALSE(extensible(std::string(960, 'a')));
}

TEST(Trailer, ReturnsFromItsBytes) {
  const Trailer t = trailer();
  const auto bytes = encode(t);
  ASSERT_EQ(std::ssize(bytes), 2 * 32 + 64);
  const auto head = decode_footer(std::span(bytes).last<footer_size>(), t.end(), "x.sion");
  ASSERT_TRUE(head);
  EXPECT_EQ(head->table, t.table);
  EXPECT_EQ(head->sections, 2u);
  const Trailer back = decode_trailer(bytes, t.end(), "x.sion");
  EXPECT_EQ(back.pointer.maxblocks, 3);
  EXPECT_EQ(back.pointer.varheader, 8192);
  EXPECT_EQ(back.identity, t.identity);
  EXPECT_EQ(back.plain_end, 9001);
  ASSERT_TRUE(back.find(SectionKind::sums));
  EXPECT_EQ(back.find(SectionKind::sums)->offset, 9040);
  EXPECT_EQ(back.find(SectionKind::sums)->length, 12);
  EXPECT_FALSE(back.find(SectionKind::mapping));
}

TEST(Trailer, FindsEveryFlippedBit) {
  const Trailer t = trailer();
  const auto good = encode(t);
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    auto bytes = good;
    bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    EXPECT_EQ(code_of([&] { decode_trailer(bytes, t.end(), "x.sion"); }), Code::damaged) << "bit " << bit;
  }
}

TEST(Trailer, WithSectionsOutsideOrTwiceIsDamaged) {
  const auto code_with = [](auto change) {
    Trailer t = trailer();
    change(t);
    const auto bytes = encode(t);
    return code_of([&] { decode_trailer(bytes, t.end(), "x.sion"); });
  };
  EXPECT_EQ(code_with([](Trailer&) {}), Code::ok);
  EXPECT_EQ(code_with([](Trailer& t) { t.sections[0].offset = 9000; }), Code::damaged);
  EXPECT_EQ(code_with([](Trailer& t) { t.sections[1].length = 17; }), Code::damaged);
  EXPECT_EQ(code_with([](Trailer& t) { t.sections[1].length = INT64_MAX; }), Code::damaged);
  EXPECT_EQ(code_with([](Trailer& t) { t.sections[1].kind = SectionKind::groups; }), Code::damaged);
  EXPECT_EQ(code_with([](Trailer& t) { t.sections[1].kind = static_cast<SectionKind>(99); }), Code::ok);
  EXPECT_EQ(code_with([](Trailer& t) { t.plain_end = -1; }), Code::damaged);
}

TEST(Trailer, WhoseTableCannotBeThereIsDamaged) {
  const Trailer t = trailer();
  const auto bytes = encode(t);
  EXPECT_EQ(code_of([&] { decode_footer(std::span(bytes).last<footer_size>(), t.end() + 8, "x.sion"); }),
            Code::damaged);
  EXPECT_EQ(decode_footer(std::array<std::byte, footer_size>{}, 100, "x.sion"), std::nullopt);
}

TEST(Groups, CountTasksAndChecksums) {
  EXPECT_EQ(groups_of(0), 0);
  EXPECT_EQ(groups_of(1024), 1);
  EXPECT_EQ(groups_of(1025), 2);
  EXPECT_EQ(sums_of_block(0, 100, 4096), 0);
  EXPECT_EQ(sums_of_block(1, 8192, 4096), 1);
  EXPECT_EQ(sums_of_block(4097, 8192, 4096), 2);
  EXPECT_EQ(sums_of_block(100000, 8192, 4096), 2);
  EXPECT_EQ(sums_of_block(INT64_MAX, INT64_MAX, 4096), INT64_MAX / 4096 + 1);
}

TEST(Groups, ReturnFromTheirBytes) {
  const Group back = decode_group(encode(Group{1, 2, 3, 4}));
  EXPECT_EQ(back.meta1, 1u);
  EXPECT_EQ(back.meta2, 2u);
  EXPECT_EQ(back.first_sum, 3);
  EXPECT_EQ(back.sums, 4u);
}

TEST(Hash, InPiecesIsThatOfTheWhole) {
  std::vector<std::byte> bytes(5000, std::byte{7});
  Hash h;
  h.add(std::span(bytes).first(1));
  h.add(std::span(bytes).subspan(1));
  EXPECT_EQ(h.value(), hash_of(bytes));
  EXPECT_EQ(hash_of({}), 0x2d06800538d394c2u);  // empty input, value from the specification of XXH3
}

}  // namespace
}  // namespace sheaf::format::extension_test
