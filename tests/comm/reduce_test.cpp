// Structs that name the operator of each field: all operators, errors, and the number of words in a message.
#include "comm/reduce.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "support/fibers/fiber_comm.hpp"

namespace sheaf::reduce_test {
namespace {

enum class Kind : uint8_t { few, many };

struct Extremes {
  int64_t low = std::numeric_limits<int64_t>::max();
  bool failed = false;
  uint32_t high = 0;
  MinMax same, different;
  std::array<int64_t, 2> identity{INT64_MIN, INT64_MIN};
  std::array<MinMax, 2> pairs;
  Kind kind = Kind::few;
  constexpr void combine(auto& by) {
    by.any(failed).min(low).max(high).range(same).range(different).max(identity).range(pairs).max(kind);
  }
};
static_assert(FieldWords::of<Extremes>().count() == 14 &&
              FieldWords::of<Extremes>().reduction() == Reduction::max);

struct SummedValues {
  int64_t tasks = 1;
  std::array<int32_t, 2> ranks{};
  constexpr void combine(auto& by) { by.sum(tasks).sum(ranks); }
};
static_assert(FieldWords::of<SummedValues>().count() == 3 &&
              FieldWords::of<SummedValues>().reduction() == Reduction::sum);

struct MixedValues {
  int64_t sum = 0, most = 0;
  constexpr void combine(auto& by) { by.sum(sum).max(most); }
};
static_assert(FieldWords::of<Extremes>().is_uniform() && FieldWords::of<SummedValues>().is_uniform() &&
              !FieldWords::of<MixedValues>().is_uniform());

Extremes of_task(int rank) {
  Extremes mine{.low = 10 - rank,
                .failed = rank == 1,
                .high = static_cast<uint32_t>(rank),
                .same = MinMax(-7),
                .different = MinMax(rank - 2),
                .pairs = {MinMax(INT64_MIN), MinMax(rank)},
                .kind = rank == 3 ? Kind::many : Kind::few};
  if (rank == 0) mine.identity = {-5, INT64_MAX};
  return mine;
}

void expect_combined(const Extremes& all) {
  EXPECT_TRUE(all.failed);
  EXPECT_EQ(all.low, 7);
  EXPECT_EQ(all.high, 3U);
  EXPECT_TRUE(all.same.is_same());
  EXPECT_EQ(all.same.min, -7);
  EXPECT_FALSE(all.different.is_same());
  EXPECT_EQ(all.different.min, -2);
  EXPECT_EQ(all.different.max, 1);
  EXPECT_EQ(all.identity, (std::array<int64_t, 2>{-5, INT64_MAX}));
  EXPECT_EQ(all.pairs[0].min, INT64_MIN);
  EXPECT_TRUE(all.pairs[0].is_same());
  EXPECT_EQ(all.pairs[1].max - all.pairs[1].min, 3);
  EXPECT_EQ(all.kind, Kind::many);
}

TEST(Reduce, CombinesEveryFieldByItsOperator) {
  run_fibers({.ranks = 4}, [](Comm& comm) {
    Extremes mine = of_task(comm.rank());
    reduce(comm, mine);
    expect_combined(mine);
    SummedValues totals{.ranks = {comm.rank(), -comm.rank()}};
    reduce(comm, totals);
    EXPECT_EQ(totals.tasks, 4);
    EXPECT_EQ(totals.ranks, (std::array<int32_t, 2>{6, -6}));
  });
}

TEST(Reduce, CombinesStructsAtTheSamePlace) {
  run_fibers({.ranks = 4}, [](Comm& comm) {
    std::vector<Extremes> mine(3);
    mine[1] = of_task(comm.rank());
    reduce_each(comm, std::span(mine));
    expect_combined(mine[1]);
    for (const Extremes& other : {mine[0], mine[2]}) {
      EXPECT_EQ(other.low, std::numeric_limits<int64_t>::max());
      EXPECT_FALSE(other.failed);
    }
    reduce_each(comm, std::span<Extremes>());
  });
}

TEST(Reduce, AgreesOnFieldsOrThrowsTheErrorOfATask) {
  run_fibers({.ranks = 4}, [](Comm& comm) {
    Extremes mine = of_task(comm.rank());
    agree(comm, std::nullopt, mine);
    expect_combined(mine);
    mine = of_task(comm.rank());
    const auto lost = comm.rank() == 2 ? std::optional(Error(Code::io, "lost")) : std::nullopt;
    const auto problem = attempt([&] { agree(comm, lost, mine); });
    ASSERT_TRUE(problem);
    EXPECT_EQ(problem->code(), Code::io);
    EXPECT_EQ(mine.low, 10 - comm.rank()) << "a failed agreement changes nothing";
  });
}

}  // namespace
}  // namespace sheaf::reduce_test
