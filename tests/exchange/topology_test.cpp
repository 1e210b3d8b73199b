// Tests tables of I/O nodes: SHEAF_TOPOLOGY=file:PATH and cmd:PROGRAM.
#include "comm/topology.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>

#include "base/error.hpp"
#include "base/os/host_name.hpp"
#include "multifile/writer/writer.hpp"
#include "storage/testing.hpp"
#include "storage/text_source.hpp"
#include "support/environment.hpp"
#include "support/fibers/fiber_comm.hpp"
#include "support/programs.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::topology_test {

using namespace multifile;

namespace {

TEST(IoNodes, TheFirstLineThatFitsCounts) {
  const std::string table =
      "# racks\n\nr0n00 special\nr0* router0\nr1n??\trouter 1  # with a comment\n*  rest\n";
  EXPECT_EQ(io_node_of("r0n00", table), "special");
  EXPECT_EQ(io_node_of("r0n01", table), "router0");
  EXPECT_EQ(io_node_of("r1n17", table), "router 1");
  EXPECT_EQ(io_node_of("login", table), "rest");
  EXPECT_EQ(io_node_of("login", "r0* router0\nlogin\n"), "");
  EXPECT_EQ(io_node_of("x", ""), "");
}

class TopologyTables : public ::testing::Test {
 protected:
  std::string file(const std::string& text) {
    const std::string name = directory_ / "table";
    std::ofstream(name) << text;
    return name;
  }

 private:
  testing::TemporaryDirectory directory_;
};

TEST_F(TopologyTables, AreReadFromFilesAndPrograms) {
  const std::string text = "a b\n";
  EXPECT_EQ(read_text_source("file:" + file(text)), text);
  EXPECT_EQ(read_text_source("cmd:cat " + file(text)), text);
  EXPECT_EQ(test::code_of([] { read_text_source("file:/nonexistent"); }), Code::not_found);
  EXPECT_EQ(test::code_of([] { read_text_source("cmd:exit 3"); }), Code::io);
  EXPECT_EQ(test::code_of([] { read_text_source("cmd:yes"); }), Code::invalid_argument);
  EXPECT_FALSE(is_text_source("node=4"));
}

FiberOptions tasks(int count) { return {.ranks = count, .stack_bytes = 128 << 10, .ranks_per_node = 2}; }

// Checks that the I/O node of each task serves `wanted` tasks.
void expect_group(int wanted) {
  std::atomic<int> right = 0;
  run_fibers(tasks(6), [&](Comm& comm) { right += split_by_io_node(comm)->size() == wanted; });
  EXPECT_EQ(right, 6);
}

TEST_F(TopologyTables, WithoutOneTheTasksOfANodeAreTogether) { expect_group(2); }

TEST_F(TopologyTables, HostsOfOneIoNodeAreTogether) {
  const test::EnvironmentVariable topology("SHEAF_TOPOLOGY",
                                           "file:" + file("other x\n" + host_name() + " y\n"));
  expect_group(6);
}

TEST_F(TopologyTables, AHostThatIsNotInTheTableIsAnErrorOnAllTasks) {
  for (const std::string& word :
       {"file:" + file("somebody-else x\n"), std::string("file:/nonexistent"), std::string("cmd:exit 1")}) {
    const test::EnvironmentVariable topology("SHEAF_TOPOLOGY", word);
    std::atomic<int> refused = 0;
    run_fibers(tasks(4),
               [&](Comm& comm) { refused += test::code_of([&] { split_by_io_node(comm); }) != Code::ok; });
    EXPECT_EQ(refused, 4) << word;
  }
}

TEST_F(TopologyTables, GiveEveryIoNodeAPhysicalFile) {
  for (const bool table : {false, true}) {
    std::optional<test::EnvironmentVariable> topology;
    if (table) topology.emplace("SHEAF_TOPOLOGY", "file:" + file("* one\n"));
    MemoryStore store;
    run_fibers(tasks(6), [&](Comm& comm) {
      ParallelWriteRequest request;
      request.path = "m";
      request.chunk_size = 100;
      Writer writer(store, comm.duplicate(), std::move(request), parse_open_mode("w,files=ion"));
      EXPECT_EQ(writer.facts().nfiles, table ? 1 : 3);
      writer.close();
    });
  }
}

}  // namespace
}  // namespace sheaf::topology_test
