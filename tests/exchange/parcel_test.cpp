#include "exchange/parcel.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.hpp"

namespace sheaf::exchange {
namespace {

constexpr int64_t note[4] = {1, -2, 3, INT64_MAX};

std::vector<std::byte> bytes(size_t count, int first) {
  std::vector<std::byte> result(count);
  for (size_t i = 0; i < count; ++i) result[i] = static_cast<std::byte>(first + static_cast<int>(i));
  return result;
}

TEST(Parcel, ArrivesAsItWasFilled) {
  Parcel parcel(4096);
  EXPECT_TRUE(parcel.empty());
  EXPECT_EQ(parcel.append(bytes(5, 0), 100), 5);
  EXPECT_EQ(parcel.append(bytes(6, 5), 105), 6);  // goes on where the last one ended
  EXPECT_EQ(parcel.append(bytes(3, 11), 50), 3);
  EXPECT_EQ(parcel.bytes(), 14);
  for (int again = 0; again < 2; ++again) {
    const Arrived arrived = open_parcel(parcel.seal(note));
    ASSERT_EQ(arrived.extents.size(), 2u);
    EXPECT_EQ(arrived.extents[0].offset, 100);
    EXPECT_EQ(arrived.extents[0].length, 11);
    EXPECT_EQ(arrived.extents[1].end(), 53);
    EXPECT_TRUE(std::ranges::equal(arrived.data, bytes(14, 0)));
    EXPECT_TRUE(std::ranges::equal(arrived.head.note, note));
  }
  EXPECT_EQ(parcel.append(bytes(2, 14), 53), 2);  // after sealing too
  EXPECT_TRUE(std::ranges::equal(open_parcel(parcel.seal(note)).data, bytes(16, 0)));
  parcel.clear();
  EXPECT_TRUE(open_parcel(parcel.seal(note)).extents.empty());
}

TEST(Parcel, NeverExceedsItsCapacity) {
  for (int64_t capacity = 100; capacity < 300; ++capacity) {
    Parcel parcel(capacity);
    int64_t offset = 0, taken = 0, sum = 0;
    while ((taken = parcel.append(bytes(static_cast<size_t>(7 + offset % 30), 1), 10 * offset)) > 0) {
      sum += taken;
      offset += 1000;
      EXPECT_LE(std::ssize(parcel.seal(note)), capacity);
    }
    EXPECT_EQ(parcel.bytes(), sum);
    EXPECT_GT(sum, 0);
  }
}

TEST(Parcel, CarriesWishesWithoutBytes) {
  Parcel parcel(200);
  int64_t wishes = 0;
  while (parcel.append_wish({wishes * 100, 10})) ++wishes;
  EXPECT_GT(wishes, 5);
  const auto message = parcel.seal(note);
  EXPECT_LE(message.size(), 200u);
  const Arrived arrived = open_parcel(message);
  EXPECT_EQ(std::ssize(arrived.extents), wishes);
  EXPECT_TRUE(arrived.data.empty());
}

TEST(Parcel, NonsenseIsRefused) {
  Parcel parcel(4096);
  parcel.append(bytes(20, 0), 7);
  const auto good = parcel.seal(note);
  std::vector<int64_t> memory(good.size() / 8);
  const auto message = std::as_writable_bytes(std::span(memory));
  for (size_t length = 0; length < good.size(); ++length) {
    std::ranges::copy(good.first(length), message.begin());
    EXPECT_THROW(open_parcel(message.first(length)), Error) << length;
  }
  for (const size_t word : {size_t{0}, size_t{1}, memory.size() - 1})
    for (const int64_t value : {int64_t{-1}, int64_t{3}, INT64_MAX}) {
      std::ranges::copy(good, message.begin());
      memory[word] = value;
      EXPECT_THROW(open_parcel(message), Error) << word << ' ' << value;
    }
}

}  // namespace
}  // namespace sheaf::exchange
