// Multifiles with striped physical files.
#include <gtest/gtest.h>

#include "sfio/direct_link.hpp"
#include "sfio/striped_store.hpp"
#include "support/programs.hpp"

namespace sheaf::test::multifile_test {
namespace {

TEST(StripedMultifile, IsWrittenAndReadInEveryWay) {
  for (const int nfiles : {1, 3}) {
    MemoryStore memory;
    const auto store = sfio::make_striped_store(sfio::direct_link(memory, "/nodes", ""));
    const std::string name = "sfio:unit=50;n0,/m.sion;n1,/m.sion;n2,/m.sion;";
    const Program p = small_program(nfiles);
    write_in_parallel(*store, name, p);
    check_every_way(*store, name, p);
    for (const std::string& path : memory.paths()) EXPECT_TRUE(path.starts_with("/nodes/n")) << path;
    EXPECT_EQ(std::ssize(memory.paths()), 6 * nfiles);
  }
}

}  // namespace
}  // namespace sheaf::test::multifile_test
