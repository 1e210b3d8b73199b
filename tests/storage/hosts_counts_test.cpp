// Counts of simulated hosts: units that two hosts write to, and bytes read without a close by the writer and
// an open by the reader.
#include <algorithm>

#include "hosts_cluster.hpp"
#include "support/hosts_store.hpp"
#include "testing.hpp"

namespace sheaf::testing::hosts_counts_test {
namespace {

TEST(HostsCounts, UnitsOfTwoHostsCountOnceAndUntilTheLastClose) {
  TwoHostCluster cluster({.unit = 100});
  const auto a = cluster.a.open("f", Access::create);
  const auto n = cluster.neighbour.open("f", Access::create);
  auto b = cluster.b.open("f", Access::create);
  a->write_at(bytes(std::string(150, 'a')), 0);
  n->write_at(bytes("n"), 0);
  EXPECT_EQ(cluster.hosts.counts().shared_units, 0);
  b->write_at(bytes("b"), 200);
  EXPECT_EQ(cluster.hosts.counts().shared_units, 0);
  b->write_at(bytes(std::string(60, 'b')), 199);  // units 1 and 2
  b->write_at(bytes("b"), 198);
  EXPECT_EQ(cluster.hosts.counts().shared_units, 1);
  b->close();
  b = cluster.b.open("f", Access::create);
  b->write_at(bytes("b"), 0);  // a still has it open
  EXPECT_EQ(cluster.hosts.counts().shared_units, 2);
  for (const auto& file : {a, n, b}) file->close();
  b = cluster.b.open("f", Access::create);
  b->write_at(bytes("b"), 0);
  EXPECT_EQ(cluster.hosts.counts().shared_units, 2);
  const auto examples = cluster.hosts.counts().examples;
  EXPECT_EQ(std::ranges::count(examples, "unit 1 of f is written on host 0 and by task 2 on host 1"), 1);
}

TEST(HostsCounts, ForeignIsWhatWasNotClosedThereAndOpenedHere) {
  for (const auto coherence : {Coherence::close_to_open, Coherence::coherent}) {
    TwoHostCluster cluster({.coherence = coherence});
    cluster.put("f", std::string(20, '.'));
    const auto foreign = [&] { return cluster.hosts.counts().foreign_bytes; };
    const auto a = cluster.a.open("f", Access::write);
    auto b = cluster.b.open("f", Access::write);
    a->write_at(bytes("aaaa"), 10);
    EXPECT_EQ(read_text(*b, 0, 10), "..........");
    EXPECT_EQ(foreign(), 0);
    read_text(*b, 8, 4);
    EXPECT_EQ(foreign(), 2);
    a->sync();
    read_text(*b, 12, 8);
    EXPECT_EQ(foreign(), 4);  // not opened since
    b = cluster.b.open("f", Access::write);
    EXPECT_EQ(read_text(*b, 8, 8), "..aaaa..");
    EXPECT_EQ(foreign(), 4);
    a->write_at(bytes("c"), 11);
    b->write_at(bytes("bb"), 12);
    read_text(*b, 10, 4);
    EXPECT_EQ(foreign(), 5);
    read_text(*a, 0, 20);
    EXPECT_EQ(foreign(), 7);
    a->close();
    b->close();
    read_text(*cluster.b.open("f", Access::read), 0, 20);
    EXPECT_EQ(foreign(), 7);
    EXPECT_EQ(cluster.hosts.counts().neighbour_bytes, 0);
    EXPECT_EQ(cluster.hosts.counts().examples[0],
              "2 bytes at offset 10 of f, written by task 0 on host 0, are read by task 2 on host 1");
  }
}

TEST(HostsCounts, BytesAreOfTheLastWhoWroteThem) {
  TwoHostCluster cluster({.coherence = Coherence::coherent});
  const auto a = cluster.a.open("f", Access::create);
  const auto b = cluster.b.open("f", Access::create);
  a->write_at(bytes("aaaaaaaaaa"), 0);
  b->write_at(bytes("bb"), 4);
  EXPECT_EQ(all_of(*a), "aaaabbaaaa");
  EXPECT_EQ(cluster.hosts.counts().foreign_bytes, 2);
  EXPECT_EQ(all_of(*b), "aaaabbaaaa");
  EXPECT_EQ(cluster.hosts.counts().foreign_bytes, 10);
}

TEST(HostsCounts, BytesOfANeighbourAreCountedApart) {
  TwoHostCluster cluster;
  const auto a = cluster.a.open("f", Access::create);
  const auto n = cluster.neighbour.open("f", Access::create);
  a->write_at(bytes("aaaa"), 0);
  EXPECT_EQ(all_of(*n), "aaaa");  // they share a cache
  EXPECT_EQ(all_of(*a), "aaaa");
  EXPECT_EQ(cluster.hosts.counts().neighbour_bytes, 4);
  EXPECT_EQ(cluster.hosts.counts().foreign_bytes, 0);
}

}  // namespace
}  // namespace sheaf::testing::hosts_counts_test
