// Compares type maps with lists of single bytes.
#include "layout/type_map.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/error.hpp"
#include "layout/each_piece.hpp"

namespace sheaf::layout::type_map_test {
namespace {

// A datatype as the plain list of its bytes.
struct TypeMapModel {
  std::vector<int64_t> bytes;
  int64_t lower = 0;
  int64_t upper = 0;
  int64_t extent() const { return upper - lower; }
};

struct Both {
  TypeMap map;
  TypeMapModel model;
};

void place(TypeMapModel& to, const TypeMapModel& type, int64_t count, int64_t at, bool& first) {
  for (int64_t i = 0; i < count; ++i) {
    const int64_t shift = at + i * type.extent();
    for (const int64_t byte : type.bytes) to.bytes.push_back(byte + shift);
    to.lower = first ? type.lower + shift : std::min(to.lower, type.lower + shift);
    to.upper = first ? type.upper + shift : std::max(to.upper, type.upper + shift);
    first = false;
  }
}

std::vector<int64_t> visited(const TypeMap& map, int64_t base, int64_t from, int64_t to) {
  std::vector<int64_t> bytes;
  for_each_piece(map, base, from, to, [&](int64_t offset, int64_t length) {
    EXPECT_GT(length, 0);
    for (int64_t i = 0; i < length; ++i) bytes.push_back(offset + i);
  });
  return bytes;
}

class RandomTypes {
 public:
  explicit RandomTypes(uint32_t seed) : random_(seed) {}

  int64_t number(int64_t from, int64_t to) {
    return std::uniform_int_distribution<int64_t>(from, to)(random_);
  }

  // Returns a random type of at most `depth` levels. If `forward`, its offsets are in ascending order.
  Both any(int depth, bool forward) {
    if (depth == 0) return elementary();
    const Both child = any(depth - 1, forward);
    switch (number(0, 6)) {
      case 0:
        return vector(number(0, 3), number(0, 3), child, forward);
      case 1:
        return indexed(child, forward);
      case 2:
        return structure(child, any(depth - 1, forward), forward);
      case 3:
        return subarray(child);
      case 4:
        return resized(child, forward);
      case 5:
        return continued(child, forward);
      default:
        return vector(1, number(1, 4), child, forward);
    }
  }

 private:
  Both elementary() {
    Both result;
    const int64_t size = number(0, 20) == 0 ? 0 : number(1, 9);
    result.map = TypeMap::bytes(size);
    for (int64_t i = 0; i < size; ++i) result.model.bytes.push_back(i);
    result.model.upper = size;
    return result;
  }

  int64_t step(const Both& child, int64_t instances, bool forward) {
    const int64_t least = instances * std::max<int64_t>(child.model.extent(), 0) + 2;
    return forward ? least + number(0, 5) : number(-30, 30);
  }

  Both vector(int64_t count, int64_t length, const Both& child, bool forward) {
    const int64_t stride = number(0, 1) ? length * child.model.extent() : step(child, length, forward);
    return groups(count, length, stride, child);
  }

  Both indexed(const Both& child, bool forward) {
    std::vector<int64_t> lengths, places;
    Both result;
    bool first = true;
    int64_t at = number(0, 4);
    const bool equal = number(0, 1) != 0;
    for (int64_t n = number(0, 5); n > 0; --n) {
      lengths.push_back(equal ? 1 : number(0, 3));
      places.push_back(at);
      place(result.model, child.model, lengths.back(), at, first);
      at = number(0, 2) == 0 ? at + lengths.back() * child.model.extent()
           : forward         ? at + step(child, lengths.back(), true)
                             : number(-40, 40);
    }
    result.map = TypeMap::indexed(lengths, places, child.map);
    return result;
  }

  Both structure(const Both& a, const Both& b, bool forward) {
    const std::vector<int64_t> lengths{number(0, 2), number(0, 2), number(0, 2)};
    const Both* const parts[] = {&a, &b, &a};
    std::vector<int64_t> places;
    std::vector<TypeMap> types;
    Both result;
    bool first = true;
    int64_t at = 0;
    for (size_t i = 0; i < 3; ++i) {
      types.push_back(parts[i]->map);
      places.push_back(at);
      place(result.model, parts[i]->model, lengths[i], at, first);
      at = forward ? at + step(*parts[i], lengths[i], true) : number(-40, 40);
    }
    result.map = TypeMap::structure(lengths, places, types);
    return result;
  }

  // Returns a type of two loops. The second loop often begins where the first one ends.
  Both continued(const Both& child, bool forward) {
    const int64_t stride = step(child, 1, forward);
    const int64_t count = number(1, 3);
    const Both parts[] = {groups(count, 1, stride, child), groups(number(1, 3), 1, stride, child)};
    const std::vector<int64_t> lengths{1, 1};
    const std::vector<int64_t> places{0, count * stride + (number(0, 1) ? 0 : number(1, 3))};
    Both result{TypeMap::structure(lengths, places, std::vector{parts[0].map, parts[1].map}), {}};
    bool first = true;
    for (size_t i = 0; i < 2; ++i) place(result.model, parts[i].model, 1, places[i], first);
    return result;
  }

  Both groups(int64_t count, int64_t length, int64_t stride, const Both& child) {
    Both result{TypeMap::vector(count, length, stride, child.map), {}};
    bool first = true;
    for (int64_t i = 0; i < count; ++i) place(result.model, child.model, length, i * stride, first);
    return result;
  }

  Both subarray(const Both& child) {
    const auto dimensions = static_cast<size_t>(number(1, 3));
    std::vector<int64_t> sizes, parts, starts;
    for (size_t d = 0; d < dimensions; ++d) {
      sizes.push_back(number(1, 4));
      parts.push_back(number(0, sizes.back()));
      starts.push_back(number(0, sizes.back() - parts.back()));
    }
    const bool row_major = number(0, 1) != 0;
    Both result{TypeMap::subarray(sizes, parts, starts, row_major, child.map), {}};
    const auto in = [&](const std::vector<int64_t>& v, size_t d) {
      return v[row_major ? dimensions - 1 - d : d];
    };
    std::vector<int64_t> index(dimensions, 0);
    const bool empty = std::ranges::find(parts, 0) != parts.end();
    int64_t all = 1;
    for (const int64_t size : sizes) all *= size;
    bool ignored = true;
    for (bool more = !empty; more;) {
      int64_t at = 0, step = 1;
      for (size_t d = 0; d < dimensions; ++d) {
        at += (in(starts, d) + index[d]) * step;
        step *= in(sizes, d);
      }
      place(result.model, child.model, 1, at * child.model.extent(), ignored);
      more = false;
      for (size_t d = 0; d < dimensions && !more; ++d) {
        if (++index[d] < in(parts, d))
          more = true;
        else
          index[d] = 0;
      }
    }
    result.model.lower = 0;
    result.model.upper = all * child.model.extent();
    return result;
  }

  Both resized(const Both& child, bool forward) {
    Both result = child;
    result.model.lower = forward ? 0 : number(-5, 5);
    result.model.upper =
        result.model.lower +
        (forward ? std::max(child.model.upper, child.model.extent()) + number(0, 9) : number(-10, 40));
    result.map = child.map.resized(result.model.lower, result.model.extent());
    return result;
  }

  std::mt19937 random_;
};

std::vector<int64_t> repeated(const TypeMapModel& model, int64_t instances) {
  std::vector<int64_t> all;
  for (int64_t i = 0; i < instances; ++i)
    for (const int64_t byte : model.bytes) all.push_back(byte + i * model.extent());
  return all;
}

TEST(TypeMap, CoversTheBytesOfTheDatatype) {
  for (uint32_t seed = 0; seed < 6000; ++seed) {
    SCOPED_TRACE(seed);
    RandomTypes types(seed);
    const auto [map, model] = types.any(static_cast<int>(types.number(0, 4)), false);
    ASSERT_EQ(map.size(), std::ssize(model.bytes));
    ASSERT_EQ(map.lower_bound(), model.lower);
    ASSERT_EQ(map.extent(), model.extent());
    if (!model.bytes.empty()) {
      ASSERT_EQ(map.true_lower_bound(), std::ranges::min(model.bytes));
      ASSERT_EQ(map.true_upper_bound(), std::ranges::max(model.bytes) + 1);
    }
    const auto all = repeated(model, 3);
    const int64_t from = types.number(0, std::ssize(all));
    const int64_t to = types.number(from, std::ssize(all));
    const std::vector<int64_t> wanted(all.begin() + from, all.begin() + to);
    ASSERT_EQ(visited(map, 0, from, to), wanted);
    if (map.size() == 0) continue;
    for (int64_t i = from; i < to; ++i) ASSERT_EQ(map.offset_of(i), all[static_cast<size_t>(i)]);
  }
}

TEST(TypeMap, KnowsWhetherItNeverGoesBack) {
  int ordered = 0, overlapping = 0, interleaved = 0;
  for (uint32_t seed = 0; seed < 6000; ++seed) {
    SCOPED_TRACE(seed);
    RandomTypes types(seed);
    const auto [map, model] = types.any(static_cast<int>(types.number(0, 3)), types.number(0, 3) != 0);
    const auto all = repeated(model, 3);
    const bool rises = std::ranges::adjacent_find(all, std::greater_equal<int64_t>()) == all.end() &&
                       (all.empty() || all[0] >= 0);
    ASSERT_EQ(map.is_ordered(), rises);
    ASSERT_TRUE(!rises || map.is_ordered(true));
    ordered += rises;
    overlapping += !rises && map.is_ordered(true);
    const auto one = repeated(model, 1);
    const bool one_rises = std::ranges::adjacent_find(one, std::greater_equal<int64_t>()) == one.end() &&
                           (one.empty() || one[0] >= 0);
    ASSERT_EQ(map.rises(), one_rises);
    ASSERT_TRUE(!one_rises || map.set_apart().is_ordered());
    interleaved += one_rises && !rises;
    if (!one_rises || all.empty() || model.extent() <= 0) continue;
    // A fourth instance would begin at 3 extents.
    for (int64_t offset = 0; offset < 3 * model.extent() + one[0]; ++offset)
      ASSERT_EQ(map.bytes_below(offset), std::ranges::count_if(all, [&](int64_t at) { return at < offset; }))
          << offset;
  }
  EXPECT_GT(ordered, 1000);
  EXPECT_GT(overlapping, 10);
  EXPECT_GT(interleaved, 10);
}

TEST(TypeMap, RegularTypesStaySmall) {
  const std::vector<int64_t> sizes{1000000, 1000000, 1000000}, parts{500000, 500000, 500000}, starts{1, 2, 3};
  const TypeMap map = TypeMap::subarray(sizes, parts, starts, true, TypeMap::bytes(8));
  EXPECT_EQ(map.size(), 1000000000000000000);
  EXPECT_EQ(map.pieces(), 250000000000);
  EXPECT_EQ(map.offset_of(500000 * 8), ((1000000 + 2 + 1) * int64_t{1000000} + 3) * 8);
}

TEST(TypeMap, NeighboursBecomeOnePiece) {
  const std::vector<int64_t> lengths{2, 3, 1}, places{0, 16, 40};
  const TypeMap map = TypeMap::indexed(lengths, places, TypeMap::bytes(8));
  EXPECT_TRUE(map.is_contiguous());
  EXPECT_EQ(map.pieces(), 1);
}

// HDF5 describes an array selection as a loop over all rows but the last, followed by the last row, and each
// row in the same way. The map must merge the last row and the last element into their loops.
TEST(TypeMap, WhatContinuesALoopIsAPartOfIt) {
  const auto but_for_the_last = [](int64_t count, int64_t stride, const TypeMap& type) {
    const std::vector<int64_t> lengths{1, 1}, places{0, (count - 1) * stride};
    return TypeMap::structure(lengths, places,
                              std::vector{TypeMap::vector(count - 1, 1, stride, type), type});
  };
  const TypeMap map = but_for_the_last(5, 1000, but_for_the_last(16, 50, TypeMap::bytes(8)));
  const TypeMap same = TypeMap::vector(5, 1, 1000, TypeMap::vector(16, 1, 50, TypeMap::bytes(8)));
  EXPECT_EQ(map.fingerprint(), same.fingerprint());
  EXPECT_EQ(map.pieces(), 80);
}

TEST(TypeMap, EqualTypesHaveEqualFingerprints) {
  const auto vector = [](int64_t stride) { return TypeMap::vector(10, 1, stride, TypeMap::bytes(4)); };
  EXPECT_EQ(vector(8).fingerprint(), vector(8).fingerprint());
  EXPECT_NE(vector(8).fingerprint(), vector(9).fingerprint());
  EXPECT_NE(vector(8).fingerprint(), vector(8).resized(0, 100).fingerprint());
}

TEST(TypeMap, RefusesWhatDoesNotFit) {
  EXPECT_THROW(TypeMap::contiguous(INT64_MAX / 2, TypeMap::bytes(16)), Error);
  EXPECT_THROW(TypeMap::contiguous(-1, TypeMap::bytes(1)), Error);
  EXPECT_THROW(TypeMap::vector(2, 1, INT64_MAX, TypeMap::bytes(1)), Error);
}

}  // namespace
}  // namespace sheaf::layout::type_map_test
