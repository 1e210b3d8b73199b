// Names, identities, the protocol and the sorting of blocks, each by itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/error.hpp"
#include "format/stripe_identity.hpp"
#include "layout/extent_code.hpp"
#include "sfio/blocks.hpp"
#include "sfio/listener_names.hpp"
#include "sfio/service/constants.hpp"
#include "sfio/service/protocol.hpp"
#include "sfio/stripe_name.hpp"

namespace sheaf::sfio::parts_test {
namespace {

using format::StripeIdentity;

TEST(StripeName, AsInThePaper) {
  const StripeName name = parse_stripe_name("tonep0,/tmp/a.dat;tonep1,/tmp/a.dat;");
  EXPECT_EQ(name.subfiles, (std::vector<SubfilePlace>{{"tonep0", "/tmp/a.dat"}, {"tonep1", "/tmp/a.dat"}}));
  EXPECT_EQ(name.unit, 0);
  EXPECT_EQ(parse_stripe_name("tonep0,/tmp/a.dat;tonep1,/tmp/a.dat").subfiles, name.subfiles);
}

TEST(StripeName, UnitSchemeAndSuffix) {
  const StripeName name = parse_stripe_name("sfio:unit=200;h1,/a;h2,/b;.000001");
  EXPECT_EQ(name.unit, 200);
  EXPECT_EQ(name.subfiles, (std::vector<SubfilePlace>{{"h1", "/a.000001"}, {"h2", "/b.000001"}}));
  EXPECT_TRUE(is_stripe_path("sfio:h,/a"));
  EXPECT_FALSE(is_stripe_path("/sfio:h,/a"));
}

TEST(StripeName, WhatIsNoNameIsRefused) {
  for (const char* name :
       {"", ";", "/a", "h,", ",/a", "h,/a;h,/a;", "h,/a;x;h,/b", "unit=0;h,/a", "unit=x;h,/a", "unit=5"})
    EXPECT_THROW(parse_stripe_name(name), Error) << name;
}

TEST(StripeIdentity, BytesAndBack) {
  StripeIdentity identity{{1, 0xffffffffffffffff}, 200, 8, 3, true, 1'000'000'000'000};
  const std::string bytes = to_bytes(identity);
  ASSERT_EQ(bytes.size(), StripeIdentity::bytes);
  EXPECT_EQ(format::stripe_identity_of(std::as_bytes(std::span(bytes))), identity);
  for (size_t i = 0; i < bytes.size(); ++i)
    for (const int bit : {0, 3, 7}) {
      std::string broken = bytes;
      broken[i] = static_cast<char>(broken[i] ^ (1 << bit));
      EXPECT_EQ(format::stripe_identity_of(std::as_bytes(std::span(broken))), std::nullopt) << i;
    }
  EXPECT_EQ(format::stripe_identity_of(std::as_bytes(std::span(bytes)).first(127)), std::nullopt);
  identity.index = 8;
  const std::string outside = to_bytes(identity);
  EXPECT_EQ(format::stripe_identity_of(std::as_bytes(std::span(outside))), std::nullopt);
}

TEST(Protocol, RequestsAndBackAndNothingElse) {
  Request request;
  request.kind = RequestKind::write;
  request.answer_tag = 77;
  request.values = {1, -2};
  request.path = "/a/b";
  request.more = std::string("x\0y", 3);
  request.sections = {{5, {{0, 10}, {20, 3}}}, {6, {}}};
  request.loan = {4711, 8, 1 << 20, -5};
  request.places = {{1, 2, 3, 4}, {100, 5, 5, 1}};
  auto bytes = encode(request);
  const size_t head = bytes.size();
  bytes.resize(head + 13);
  const auto back = decode(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->data.size(), 13u);
  EXPECT_EQ(back->request.path, "/a/b");
  EXPECT_EQ(back->request.more, request.more);
  EXPECT_EQ(back->request.sections[0].extents[1].offset, 20);
  EXPECT_EQ(back->request.loan, request.loan);
  EXPECT_EQ(back->request.places[1].offset, 100);
  for (size_t length = 0; length < head; ++length)
    EXPECT_FALSE(decode(std::span(bytes).first(length))) << length;
  std::mt19937 random(3);
  for (int i = 0; i < 20000; ++i) {
    auto noise = bytes;
    for (int n = 0; n < 3; ++n) noise[random() % head] = static_cast<std::byte>(random());
    (void)decode(noise);
  }
}

TEST(Protocol, RefusesInvalidExtents) {
  Request request;
  request.kind = RequestKind::read;
  std::vector<Extent> extents;
  for (int64_t i = 0; i < max_extents; ++i) extents.push_back({i * i, 1});
  request.sections = {{5, extents}};
  EXPECT_TRUE(decode(encode(request)));
  request.sections.push_back({6, {{0, 1}}});
  EXPECT_FALSE(decode(encode(request))) << "too many extents in all";
  request.sections = {{5, {{0x11, 0x22}, {0x133, 0x22}}}};
  const auto bytes = encode(request);
  const auto list = layout::encode_extents(request.sections[0].extents);
  const auto at = std::ranges::search(bytes, list).begin() - bytes.begin();
  for (const auto& [byte, value] : {std::pair(1, 0), {2, 0}, {2, 1}, {4, 0}}) {  // length, count, gap
    auto wrong = bytes;
    wrong[static_cast<size_t>(at + byte)] = static_cast<std::byte>(value);
    EXPECT_FALSE(decode(wrong)) << byte << " " << value;
  }
}

TEST(Blocks, WritesAgainstAModel) {
  std::mt19937 random(5);
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::vector<std::byte>> memory(random() % 7);
    std::vector<Block> blocks;
    std::vector<int> model(130, -1), result(130, -1);
    for (size_t i = 0; i < memory.size(); ++i) {
      memory[i].assign(random() % 30, static_cast<std::byte>(i));
      const int64_t offset = random() % 100;
      blocks.push_back({offset, memory[i].data(), std::ssize(memory[i])});
      for (int64_t b = 0; b < std::ssize(memory[i]); ++b)
        model[static_cast<size_t>(offset + b)] = static_cast<int>(i);
    }
    int64_t last = 0;
    for (const Block& block : sorted_writes(blocks)) {
      ASSERT_GE(block.offset, last);
      ASSERT_GT(block.length, 0);
      last = block.end();
      for (int64_t b = 0; b < block.length; ++b)
        result[static_cast<size_t>(block.offset + b)] = static_cast<int>(block.memory[b]);
    }
    ASSERT_EQ(result, model);
  }
}

TEST(Blocks, ReadsFillEveryBlockAndTouchEveryByteOnce) {
  std::mt19937 random(6);
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::vector<std::byte>> memory(random() % 7);
    std::vector<Block> blocks;
    for (auto& bytes : memory) {
      bytes.assign(random() % 30, std::byte{255});
      blocks.push_back({static_cast<int64_t>(random() % 60), bytes.data(), std::ssize(bytes)});
    }
    std::vector<Copy> copies;
    int64_t last = 0;
    for (const Block& block : sorted_reads(blocks, copies)) {
      ASSERT_GE(block.offset, last);
      last = block.end();
      for (int64_t b = 0; b < block.length; ++b) block.memory[b] = static_cast<std::byte>(block.offset + b);
    }
    for (const Copy& copy : copies) std::copy_n(copy.from, copy.length, copy.to);
    for (size_t i = 0; i < memory.size(); ++i)
      for (size_t b = 0; b < memory[i].size(); ++b)
        ASSERT_EQ(static_cast<int64_t>(memory[i][b]), blocks[i].offset + static_cast<int64_t>(b));
  }
}

TEST(ListenerNames, ByNameInTurnNumberAndShortName) {
  const std::vector<ListenerFacts> listeners = {{"a.domain", 0, 1}, {"b", 1, 1}, {"a.domain", 2, 1}};
  EXPECT_EQ(find_listener(listeners, "b", 0), 1);
  EXPECT_EQ(find_listener(listeners, "a.domain", 0), 0);
  EXPECT_EQ(find_listener(listeners, "a.domain", 1), 2);
  EXPECT_EQ(find_listener(listeners, "a", 2), 0);
  EXPECT_EQ(find_listener(listeners, "#2", 0), 2);
  EXPECT_THROW(find_listener(listeners, "localhost", 0), Error);
  EXPECT_THROW(find_listener(listeners, "#3", 0), Error);
  EXPECT_EQ(find_listener({{"n", 0, 1}, {"n", 4, 1}}, "localhost", 1), 1);
}

}  // namespace
}  // namespace sheaf::sfio::parts_test
