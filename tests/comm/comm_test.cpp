#include <gtest/gtest.h>

#include "base/error.hpp"
#include "comm/comm_contract.hpp"
#include "comm/helpers.hpp"

namespace sheaf::comm_test {
namespace {

TEST(SelfComm, KeepsTheContract) {
  EXPECT_NO_THROW(test::check_comm_contract(*self_comm(), 200, {1, 2, 3, 4, 5}));
}

TEST(SelfComm, RefusesARootThatIsNotThere) {
  EXPECT_THROW(self_comm()->broadcast({}, 1), Error);
  EXPECT_THROW(self_comm()->gather({}, -1), Error);
}

TEST(SelfComm, RefusesPiecesThatDoNotMatchTheirSizes) {
  EXPECT_THROW(self_comm()->scatter({{}, {1}}, 0), Error);
  EXPECT_THROW(self_comm()->scatter({{}, {}}, 0), Error);
  EXPECT_THROW(self_comm()->scatter({{std::byte{1}}, {2, -1}}, 0), Error);
}

TEST(Gathered, OffsetsAreSumsOfTheSizesBefore) {
  EXPECT_EQ(Gathered{}.offsets(), std::vector<int64_t>{0});
  const Gathered three{{}, {3, 0, 4}};
  EXPECT_EQ(three.offsets(), (std::vector<int64_t>{0, 3, 3, 7}));
}

TEST(Topology, NamesTheTasksPerNode) {
  EXPECT_EQ(tasks_per_node(""), 0);
  EXPECT_EQ(tasks_per_node("node=4"), 4);
  EXPECT_EQ(tasks_per_node("ionode=2,node=16"), 16);
  for (const char* const bad : {"node=", "node=0", "node=-1", "node=4x", "node=99999999999"})
    EXPECT_THROW(tasks_per_node(bad), Error) << bad;
}

}  // namespace
}  // namespace sheaf::comm_test
