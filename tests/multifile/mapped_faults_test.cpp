// For every k, the k-th operation of the store fails in mapped access. All processes must end with the same
// kind of outcome, and the files must be correct or rejected.
#include <gtest/gtest.h>

#include "support/mapped.hpp"
#include "support/stores/faulty_store.hpp"

namespace sheaf::test::mapped_faults_test {

using namespace multifile;

namespace {

MappedProgram program() {
  MappedProgram p;
  p.program.nfiles = 2;
  p.program.fsblksize = 64;
  p.program.buffer = 100;
  p.program.requests = {100, 0, 64, 200};
  p.program.steps = {{{Step::write, 50}, {Step::write, 120}, {Step::write, 300}},
                     {},
                     {{Step::write, 64}, {Step::write, 7}},
                     {{Step::write, 90}}};
  p.places = {{1, 0}, {0, 1}, {0, 0}, {1, 1}};
  p.owners = {0, 1, 2, 2};
  p.writers = p.readers = 3;
  return p;
}

void sweep(const std::function<void(MemoryStore&, FaultyStore&)>& run) {
  for (const bool from_then_on : {false, true})
    for (int64_t k = 0;; ++k) {
      SCOPED_TRACE("operation " + std::to_string(k) + (from_then_on ? " and all later ones" : ""));
      FaultPlan plan;
      plan.fail_at = k;
      plan.from_then_on = from_then_on;
      plan.errno_value = EIO;
      MemoryStore memory;
      FaultyStore faulty(memory, plan);
      run(memory, faulty);
      if (faulty.failed() == 0) break;
      ASSERT_LT(k, 2000);
    }
}

TEST(MappedFaults, AWriteIsRightOrRefused) {
  const MappedProgram p = program();
  sweep([&](MemoryStore& memory, FaultyStore& faulty) {
    TaskHandles store(faulty);
    std::vector<Code> codes(3, Code::ok);
    run_fibers(fibers(3, 1), [&](Comm& comm) {
      codes[static_cast<size_t>(comm.rank())] = code_of([&] {
        std::vector<MappedWriteTask> mine;
        for (size_t t = 0; t < 4; ++t)
          if (p.owners[t] == comm.rank())
            mine.push_back({static_cast<int64_t>(t), p.program.requests[t], p.places[t]});
        Writer writer(store, comm.duplicate(), {"a", 2, 64, mine}, shared_mode_of(comm, "w", 100));
        std::optional<Error> failure;
        for (const MappedWriteTask& t : mine) {
          int64_t done = 0;
          for (const Step& s : p.program.steps[static_cast<size_t>(t.globalrank)]) {
            if (failure) break;
            failure = attempt([&] {
              writer.select(t.globalrank);
              writer.stream().write(content(t.globalrank, done, s.bytes));
            });
            done += s.bytes;
          }
        }
        writer.close();
        if (failure) throw *failure;
      });
    });
    EXPECT_EQ(store.open_files(), 0u);
    const Code found = code_of([&] { Reader(memory, "a", mode_of("r")); });
    if (std::ranges::all_of(codes, [](Code c) { return c == Code::ok; })) {
      EXPECT_EQ(found, Code::ok);
      EXPECT_NO_THROW(check_every_way(memory, "a", p.program));
    } else if (found == Code::ok) {
      // The file must be complete and hold all data that could be written.
      EXPECT_TRUE(std::ranges::any_of(codes, [](Code c) { return c == Code::io; }));
    }
  });
}

TEST(MappedFaults, AFailureOfAReadingOpenIsSeenByAll) {
  const MappedProgram p = program();
  sweep([&](MemoryStore& memory, FaultyStore& faulty) {
    write_mapped(memory, "a", p);
    TaskHandles store(faulty);
    std::vector<Code> codes(3, Code::ok);
    run_fibers(fibers(3, 1), [&](Comm& comm) {
      codes[static_cast<size_t>(comm.rank())] = code_of([&] {
        Reader reader(store, comm.duplicate(), MappedReadRequest{"a", true, {}}, mode_of("r"));
        reader.close();
      });
    });
    EXPECT_EQ(codes, std::vector<Code>(3, codes[0]));
    EXPECT_EQ(codes[0], faulty.failed() > 0 ? Code::io : Code::ok);
    EXPECT_EQ(store.open_files(), 0u);
  });
}

}  // namespace
}  // namespace sheaf::test::mapped_faults_test
