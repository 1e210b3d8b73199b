// Physical files whose names form a set, but which two different runs wrote.
#include <gtest/gtest.h>

#include "multifile/recover/repair.hpp"
#include "multifile/tools/verify.hpp"
#include "support/programs.hpp"

namespace sheaf::test::sets_of_two_runs_test {

using namespace multifile;

namespace {

WorkProgress quiet;

Program set_program(int64_t bytes) {
  Program p;
  p.fsblksize = 4096;
  p.nfiles = 2;
  p.requests = {4096, 4096, 4096, 4096};
  p.steps.assign(4, {{Step::write, bytes}});
  return p;
}

// File 0 is of a run that was killed in its open, or of a complete one. The other files are of the previous
// run. Readers and repairs must reject the set.
TEST(Sets, OfFilesOfTwoRunsAreNeitherRepairedNorReadAsOne) {
  for (const bool closed : {false, true}) {
    MemoryStore store(4096, 4096), other(4096, 4096);
    write_in_parallel(store, "a", set_program(3000));
    write_in_parallel(other, "a", set_program(10));
    store.set_contents("a", other.contents("a"));
    if (!closed) {
      const PhysicalFile f = load_physical_file(store, "a");
      store.open("a", Access::write)->write_at(std::array<std::byte, 12>{}, 1076 + 16 * f.header.ntasks);
      store.open("a", Access::write)->resize(f.pointer.varheader);
    }
    const auto before = store.contents("a");
    EXPECT_FALSE(verify(store, "a", true, quiet).ok());
    if (!closed) {
      EXPECT_EQ(code_of([&] { repair(store, "a", {}, quiet); }), Code::damaged);
    }
    EXPECT_EQ(store.contents("a"), before);
    EXPECT_EQ(code_of([&] { load_multifile(store, "a"); }), Code::damaged);
    EXPECT_EQ(code_of([&] { repair(store, "a", {.copy_to = "copy"}, quiet); }), Code::damaged);
    if (closed) {
      const int64_t last = 3;
      EXPECT_EQ(code_of([&] { Reader(store, "a", last, mode_of("r")); }), Code::damaged);
      for (const std::string words : {"r", "r,collective=16"})
        run_fibers(fibers(4), [&](Comm& comm) {
          EXPECT_EQ(code_of([&] { Reader(store, comm.duplicate(), "a", mode_of(words)); }), Code::damaged);
        });
      run_fibers(fibers(4), [&](Comm& comm) {
        const std::vector<int64_t> mine{comm.rank()};
        const auto append = [&] {
          Writer(store, comm.duplicate(), MappedAppendRequest{{"a", false, mine}, 0}, mode_of("append"));
        };
        EXPECT_EQ(code_of(append), Code::damaged);
      });
    }
    EXPECT_NO_THROW(repair(store, "a.000001", {}, quiet)) << "alone it is whole";
  }
}

}  // namespace
}  // namespace sheaf::test::sets_of_two_runs_test
