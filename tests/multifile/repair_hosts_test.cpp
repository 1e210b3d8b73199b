// Repairs on one host of a file that another host changed before it was lost. The repairing host has cached
// old data.
#include <gtest/gtest.h>

#include <numeric>

#include "comm/agree.hpp"
#include "multifile/reader/reader.hpp"
#include "multifile/recover/repair.hpp"
#include "multifile/stream/group_hashes.hpp"
#include "multifile/writer/writer.hpp"
#include "support/hosts_store.hpp"
#include "support/programs.hpp"

namespace sheaf::test::repair_hosts_test {

using namespace multifile;

namespace {

TEST(RepairOnHosts, SeesWhatTheLostHostHasPublishedSinceThisOneLooked) {
  for (const bool journal : {false, true})  // the file that this host has opened, and thus cached
    for (const int64_t page : {512, 4096}) {
      SCOPED_TRACE(std::string(journal ? "journal" : "file") + ", pages of " + std::to_string(page));
      SimulatedHosts hosts({.page = page, .opens_revalidate = false});
      HostsStore lost(hosts, 0, 0), here(hosts, 1, 1);
      const std::vector<int64_t> sizes{4096, 4096}, ranks{0, 1};
      Writer writer(lost, SerialWriteRequest{"a", sizes, ranks, 4096}, mode_of("w,durable", 1000));
      int64_t flushed = 0;
      const auto write_and_flush = [&](int64_t bytes) {
        writer.stream().write(content(0, flushed, bytes));
        flushed += bytes;
        writer.commit();
      };
      write_and_flush(100);
      std::vector<std::byte> seen(8192);
      here.open(journal ? "a.journal" : "a", Access::read)->read_at(seen, 0);
      for (int i = 0; i < 6; ++i) write_and_flush(3000);
      hosts.lose(0);
      WorkProgress quiet;
      const RepairReport report = repair(here, "a", {}, quiet);
      EXPECT_EQ(report.files.front().source, RepairSource::journal);
      Reader reader(here, "a", mode_of("r"));
      std::vector<std::byte> found(1 << 16);
      found.resize(reader.stream().read(found));
      EXPECT_EQ(std::ssize(found), flushed);
      EXPECT_EQ(found, content(0, 0, std::ssize(found)));
      attempt([&] { writer.close(); });
    }
}

TEST(RepairOnHosts, NothingIsTruncatedThatAnotherHostHasWrittenSinceTheOpen) {
  SimulatedHosts hosts;
  HostsStore other(hosts, 0, 0), here(hosts, 1, 1);
  const auto written = other.open("a", Access::fresh);
  written->write_at(content(0, 0, 100), 0);
  written->sync();
  const auto file = here.open("a", Access::read);
  std::vector<std::byte> found(300);
  EXPECT_EQ(file->read_at(found, 0), 100u);
  written->write_at(content(0, 100, 200), 100);
  written->close();
  EXPECT_NO_THROW(read_whole(*file, found, 0, "block counts"));
  EXPECT_EQ(found, content(0, 0, 300));
  EXPECT_EQ(code_of([&] { read_whole(*file, found, 100, "block counts"); }), Code::damaged);
}

// The other host has completed the tables, but this host has cached a shorter length. Before readers report a
// truncated file, they must query the length again.
TEST(RepairOnHosts, ReadersLookAgainBeforeTheyCallAFileCutOff) {
  SimulatedHosts hosts({.opens_revalidate = false});
  HostsStore other(hosts, 0, 0), here(hosts, 1, 1);
  std::vector<std::byte> seen(8192);
  {
    const std::vector<int64_t> sizes(500, 64), ranks = [] {
      std::vector<int64_t> all(500);
      std::iota(all.begin(), all.end(), 0);
      return all;
    }();
    Writer writer(other, SerialWriteRequest{"a", sizes, ranks, 64}, mode_of("w", 1000));
    writer.stream().write(content(0, 0, 100));
    writer.commit();
    other.open("a", Access::write)->sync();
    here.open("a", Access::read)->read_at(seen, 1 << 20);  // caches the size alone
    writer.close();
  }
  Reader reader(here, "a", mode_of("r"));
  std::vector<std::byte> found(200);
  found.resize(reader.stream().read(found));
  EXPECT_EQ(found, content(0, 0, 100));
}

}  // namespace
}  // namespace sheaf::test::repair_hosts_test
