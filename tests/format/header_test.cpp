// Tests encoding and decoding of META1: byte orders, versions, limits of every field, names.
#include "format/header.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace sheaf::format::header_test {
namespace {

Header sample() {
  Header h;
  h.userdata_order = ByteOrder::big;
  h.fsblksize = 4096;
  h.ntasks = 7;
  h.nfiles = 3;
  h.filenumber = 2;
  h.flag1 = Header::flag_of(KeyvalMode::inline_);
  h.flag2 = -5;
  h.set_name("dir/a.sion");
  return h;
}

using Bytes = std::vector<std::byte>;

Bytes bytes_of(const Header& h) {
  const auto encoded = encode(h);
  return {encoded.begin(), encoded.end()};
}

Code code_of(const Bytes& bytes) {
  try {
    decode_header(bytes, "x.sion");
    return Code::ok;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'x.sion'"), std::string::npos) << error.what();
    return error.code();
  }
}

// Returns the header with the 4-byte field at `offset` replaced.
Bytes with(size_t offset, int32_t value) {
  Bytes bytes = bytes_of(sample());
  store<int32_t>(bytes.data() + offset, value, native_order);
  return bytes;
}

TEST(Header, ReturnsFromBytesInEveryByteOrder) {
  for (const ByteOrder metadata : {ByteOrder::little, ByteOrder::big})
    for (const ByteOrder userdata : {ByteOrder::little, ByteOrder::big}) {
      Header h = sample();
      h.metadata_order = metadata;
      h.userdata_order = userdata;
      const Bytes bytes = bytes_of(h);
      EXPECT_EQ(bytes[4], static_cast<std::byte>(metadata));
      EXPECT_EQ(bytes[5], static_cast<std::byte>(userdata));
      EXPECT_EQ(bytes[6], static_cast<std::byte>(userdata));
      EXPECT_EQ(bytes[7], static_cast<std::byte>(metadata));
      EXPECT_EQ(bytes[metadata == ByteOrder::big ? 27 : 24], std::byte{7});
      const Header back = decode_header(bytes, "x");
      EXPECT_EQ(bytes_of(back), bytes);
      EXPECT_EQ(back.ntasks, 7);
      EXPECT_EQ(back.flag2, -5);
      EXPECT_EQ(back.name(), "dir/a.sion");
      EXPECT_EQ(back.keyval(), KeyvalMode::inline_);
    }
}

TEST(Header, OfVersionTwoHasNoFileNumberAndAnEarlierPrefix) {
  Bytes bytes = with(16, 2);
  Bytes old(bytes.begin(), bytes.begin() + 32);
  old.insert(old.end(), bytes.begin() + 52, bytes.begin() + 1076);
  ASSERT_EQ(old.size(), static_cast<size_t>(fixed_size_v2));
  const Header h = decode_header(old, "x");
  EXPECT_EQ(h.filenumber, 1);
  EXPECT_FALSE(h.leads_set());
  EXPECT_EQ(h.keyval(), KeyvalMode::none);
  EXPECT_EQ(h.name(), "dir/a.sion");
  EXPECT_EQ(h.globalranks_offset(), 1056);
  EXPECT_EQ(h.pointer_offset(), 1056 + 16 * 7);
}

TEST(Header, BeforeVersionFiveHasNoKeyValues) {
  for (const int32_t version : {3, 4}) {
    const Header h = decode_header(with(16, version), "x");
    EXPECT_EQ(h.keyval(), KeyvalMode::none);
    EXPECT_EQ(h.pointer_offset(), 1076 + 16 * 7);
  }
}

TEST(Header, RefusesOtherVersions) {
  for (const int32_t version : {-1, 0, 1, 6, 1 << 24})
    EXPECT_EQ(code_of(with(16, version)), Code::unsupported);
}

TEST(Header, RefusesForeignFiles) {
  EXPECT_EQ(code_of({}), Code::not_a_multifile);
  EXPECT_EQ(code_of(Bytes(3)), Code::not_a_multifile);
  EXPECT_EQ(code_of(Bytes(2000)), Code::not_a_multifile);
}

TEST(Header, RefusesEveryTruncation) {
  const Bytes whole = bytes_of(sample());
  for (size_t size = 4; size < whole.size(); ++size)
    ASSERT_EQ(code_of(Bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size))), Code::damaged)
        << size;
}

TEST(Header, RefusesFieldsOutsideTheirLimits) {
  for (const int at : {4, 5}) {  // byte order
    Bytes bytes = bytes_of(sample());
    bytes[static_cast<size_t>(at)] = std::byte{2};
    EXPECT_EQ(code_of(bytes), Code::damaged);
  }
  for (const int32_t value : {0, -1, INT32_MIN})
    EXPECT_EQ(code_of(with(20, value)), Code::damaged);                                       // block size
  EXPECT_EQ(code_of(with(24, -1)), Code::damaged);                                            // tasks
  for (const int32_t value : {0, -1}) EXPECT_EQ(code_of(with(28, value)), Code::damaged);     // files
  for (const int32_t value : {-1, 3, 4}) EXPECT_EQ(code_of(with(32, value)), Code::damaged);  // file number
}

TEST(Header, OfASerialFileHasFileNumberOne) {
  Bytes bytes = with(28, 1);
  store<int32_t>(bytes.data() + 32, 1, native_order);
  EXPECT_FALSE(decode_header(bytes, "x").leads_set());
}

// Modes 52 and 53 name layouts that no program ever wrote (docs/format.md, section 3). They must be refused.
TEST(Header, RefusesUnknownKeyValueModes) {
  const auto with_mode = [](int32_t mode, int32_t version) {
    Bytes bytes = with(16, version);
    store<int64_t>(bytes.data() + 36, (int64_t{mode} << 32) + 99, native_order);
    return bytes;
  };
  for (const int32_t mode : {1, 49, 52, 53, 54, 55, -1}) {
    EXPECT_EQ(code_of(with_mode(mode, 5)), Code::unsupported) << mode;
    EXPECT_EQ(code_of(with_mode(mode, 4)), Code::ok) << mode;
  }
  for (const int32_t mode : {0, 50, 51}) EXPECT_EQ(code_of(with_mode(mode, 5)), Code::ok);
  EXPECT_EQ(decode_header(with_mode(0, 5), "x").keyval(), KeyvalMode::none);
}

TEST(Header, OfEncodedFilesHasAMagicOfItsOwn) {
  Header h = sample();
  EXPECT_EQ(std::memcmp(bytes_of(h).data(), "sion", 4), 0);
  EXPECT_FALSE(decode_header(bytes_of(h), "x").encoded);
  h.encoded = true;
  Bytes bytes = bytes_of(h);
  EXPECT_EQ(std::memcmp(bytes.data(), "\x89SHF", 4), 0);
  EXPECT_TRUE(decode_header(bytes, "x").encoded);
  EXPECT_FALSE(decode_header(bytes, "x").compressed);
  store<int32_t>(bytes.data() + 16, 4, native_order);
  EXPECT_EQ(code_of(bytes), Code::damaged);
  store<int32_t>(bytes.data() + 16, 6, native_order);
  EXPECT_EQ(code_of(bytes), Code::unsupported);
  bytes[0] = std::byte{};
  EXPECT_EQ(code_of(bytes), Code::not_a_multifile);
}

TEST(Header, CutsThePrefixAtItsSize) {
  Header h;
  h.set_name(std::string(2000, 'n'));
  EXPECT_EQ(h.name(), std::string(1023, 'n'));
  Bytes bytes = bytes_of(sample());
  std::fill(bytes.begin() + 52, bytes.end(), std::byte{'x'});  // no NUL
  EXPECT_EQ(decode_header(bytes, "x").name(), std::string(1023, 'x'));
}

TEST(Pointer, ReturnsFromBytesInBothOrders) {
  const Pointer p{0x01020304, 0x1122334455667788};
  for (const ByteOrder order : {ByteOrder::little, ByteOrder::big}) {
    const auto bytes = encode(p, order);
    EXPECT_EQ(bytes[0], order == ByteOrder::big ? std::byte{1} : std::byte{4});
    const Pointer back = decode_pointer(bytes, order);
    EXPECT_EQ(back.maxblocks, p.maxblocks);
    EXPECT_EQ(back.varheader, p.varheader);
  }
}

TEST(Arrays, ReturnFromBytesInBothOrders) {
  const std::vector<int64_t> wide{0, 1, -1, INT64_MIN, INT64_MAX, 0x0102030405060708};
  const std::vector<int32_t> narrow{0, 1, -1, INT32_MIN, INT32_MAX, 0x01020304};
  for (const ByteOrder order : {ByteOrder::little, ByteOrder::big}) {
    Bytes bytes(8 * wide.size());
    std::vector<int64_t> wide_back(wide.size());
    encode(std::span(wide), order, bytes);
    decode(bytes, order, std::span(wide_back));
    EXPECT_EQ(wide_back, wide);
    EXPECT_EQ(bytes[40], order == ByteOrder::big ? std::byte{1} : std::byte{8});
    std::vector<int32_t> narrow_back(narrow.size());
    encode(std::span(narrow), order, bytes);
    decode(bytes, order, std::span(narrow_back));
    EXPECT_EQ(narrow_back, narrow);
  }
}

TEST(PhysicalName, AppendsSixDigitsOrMore) {
  EXPECT_EQ(physical_name("d/a", 0), "d/a");
  EXPECT_EQ(physical_name("d/a", 1), "d/a.000001");
  EXPECT_EQ(physical_name("d/a", 1234567), "d/a.1234567");
  EXPECT_EQ(physical_name("a", INT32_MAX), "a.2147483647");
}

TEST(PhysicalName, FitsIntoThePrefixField) {
  const auto length = [](size_t base, int32_t number) -> int64_t {
    try {
      return static_cast<int64_t>(physical_name(std::string(base, 'x'), number).size());
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::invalid_argument);
      return -1;
    }
  };
  for (size_t size = 1016; size <= 1024; ++size) {
    const auto signed_size = static_cast<int64_t>(size);
    EXPECT_EQ(length(size, 0), size <= 1023 ? signed_size : -1) << size;
    EXPECT_EQ(length(size, 1), size <= 1016 ? signed_size + 7 : -1) << size;
    EXPECT_EQ(length(size, 1000000), -1) << size;
  }
}

}  // namespace
}  // namespace sheaf::format::header_test
