// For every k, the k-th operation of the store fails. Whole programs must end with an error on every task or
// with the correct file, and never read wrong data. No task may hang, and no file may stay open.
#include <gtest/gtest.h>

#include "support/programs.hpp"
#include "support/stores/faulty_store.hpp"

namespace sheaf::test::faults_test {

using namespace multifile;

namespace {

constexpr int tasks = 4;

std::vector<FaultPlan> kinds_of_fault() {
  std::vector<FaultPlan> plans;
  for (const bool from_then_on : {false, true})
    for (const int errno_value : {EIO, ENOSPC})
      for (const bool half : {false, true}) {
        FaultPlan plan;
        plan.from_then_on = from_then_on;
        plan.errno_value = errno_value;
        plan.half_first = half;
        plans.push_back(plan);
      }
  return plans;
}

// Runs run(faulty) with a fault at each operation in turn, until a run meets no fault.
void sweep(const std::function<void(FaultyStore&, MemoryStore&)>& run, MemoryStore& (*make)(MemoryStore&),
           FaultPlan plan) {
  for (plan.fail_at = 0;; ++plan.fail_at) {
    SCOPED_TRACE("operation " + std::to_string(plan.fail_at) +
                 (plan.from_then_on ? " and all later ones" : "") + (plan.half_first ? ", half done" : ""));
    MemoryStore memory;
    FaultyStore faulty(make(memory), plan);
    run(faulty, memory);
    if (faulty.failed() == 0) break;
    ASSERT_LT(plan.fail_at, 2000);
  }
}

MemoryStore& empty(MemoryStore& store) { return store; }
MemoryStore& with_one_file(MemoryStore& store) {
  write_in_parallel(store, "a", small_program(1));
  return store;
}
MemoryStore& with_set(MemoryStore& store) {
  write_in_parallel(store, "a", small_program(2));
  return store;
}

void expect_failure_on_all(const std::vector<Code>& codes) {
  for (const Code code : codes) EXPECT_TRUE(code == Code::io || code == Code::no_space) << name_of(code);
}

// The files in `memory` must either read as `p` or be rejected.
void expect_right_or_refused(MemoryStore& memory, const Program& p, const std::vector<Code>& codes) {
  const Code found = code_of([&] { Reader(memory, "a", mode_of("r")); });
  if (found == Code::ok && Reader(memory, "a", mode_of("r")).facts().unclosed) {
    expect_failure_on_all(codes);
    EXPECT_NO_THROW(check_beginnings(memory, "a", p));
  } else if (found == Code::ok) {
    EXPECT_NO_THROW(check_every_way(memory, "a", p));
  } else {
    expect_failure_on_all(codes);
    EXPECT_TRUE(found == Code::unclosed || found == Code::not_found || found == Code::not_a_multifile ||
                found == Code::damaged)
        << name_of(found);
  }
}

// Retries a failed write once, as a program does that waits for space.
void persistent_steps(WriteStream& stream, const std::vector<Step>& steps, int64_t task) {
  int64_t done = 0;
  for (const Step& s : steps)
    for (int tries = 2; tries > 0; --tries) {
      const auto problem = attempt([&] {
        if (s.kind == Step::write) stream.write(content(task, done, s.bytes));
        if (s.kind == Step::ensure) stream.ensure_free_space(s.bytes);
        if (s.kind == Step::flush) stream.flush();
      });
      if (problem && tries == 1) throw *problem;
      if (problem) continue;
      if (s.kind == Step::write) done += s.bytes;
      break;
    }
}

std::vector<Code> write_through(FaultyStore& faulty, const Program& p, const std::string& words) {
  TaskHandles shared(faulty);
  std::vector<Code> codes(tasks, Code::ok);
  run_fibers(fibers(tasks), [&](Comm& comm) {
    const int me = comm.rank();
    codes[static_cast<size_t>(me)] = code_of([&] {
      Writer writer(shared, comm.duplicate(), request_of("a", p, comm),
                    shared_mode_of(comm, words, p.buffer));
      const auto problem =
          attempt([&] { persistent_steps(writer.stream(), p.steps[static_cast<size_t>(me)], me); });
      const auto closing = attempt([&] { writer.close(); });
      agree(comm, problem ? problem : closing);
    });
  });
  EXPECT_EQ(shared.open_files(), 0u);
  return codes;
}

TEST(Faults, InParallelWriting) {
  for (const int nfiles : {1, 2, 0})
    for (const char* words : {"w", "w,durable"})
      for (const FaultPlan& plan : kinds_of_fault()) {
        const Program p = small_program(nfiles);
        SCOPED_TRACE(std::to_string(nfiles) + " files, " + words);
        sweep(
            [&](FaultyStore& faulty, MemoryStore& memory) {
              const auto codes = write_through(faulty, p, words);
              for (const Code code : codes) EXPECT_EQ(code == Code::ok, codes[0] == Code::ok);
              if (faulty.failed() == 0) {
                EXPECT_EQ(codes[0], Code::ok);
              }
              expect_right_or_refused(memory, p, codes);
            },
            empty, plan);
      }
}

// A failed open must leave no new file, unless the store also prevents its removal.
TEST(Faults, InParallelOpenLeaveNoFile) {
  for (const int nfiles : {1, 2})
    sweep(
        [&](FaultyStore& faulty, MemoryStore& memory) {
          const Program p = small_program(nfiles);
          TaskHandles shared(faulty);
          std::vector<Code> codes(tasks);
          run_fibers(fibers(tasks), [&](Comm& comm) {
            codes[static_cast<size_t>(comm.rank())] =
                code_of([&] { Writer(shared, comm.duplicate(), request_of("a", p, comm), mode_of("w")); });
          });
          if (faulty.failed() == 0) return;
          expect_failure_on_all(codes);
          EXPECT_TRUE(memory.paths().empty());
        },
        empty, {});
}

TEST(Faults, InParallelReading) {
  for (const auto make : {with_one_file, with_set})
    for (const FaultPlan& plan : kinds_of_fault())
      sweep(
          [&](FaultyStore& faulty, MemoryStore&) {
            const Program p = small_program(1);
            TaskHandles shared(faulty);
            std::vector<Code> codes(tasks);
            std::vector<std::string> wrong(tasks);
            run_fibers(fibers(tasks), [&](Comm& comm) {
              const int me = comm.rank();
              codes[static_cast<size_t>(me)] = code_of([&] {
                Reader reader(shared, comm.duplicate(), "a", mode_of("r", 30));
                std::optional<Error> problem;
                try {
                  check_stream(reader.stream(), p.expected(me), me, 40);
                } catch (const Error& e) {
                  problem = e;
                } catch (const std::logic_error& e) {
                  wrong[static_cast<size_t>(me)] = e.what();
                }
                const auto closing = attempt([&] { reader.close(); });
                agree(comm, problem ? problem : closing);
              });
            });
            EXPECT_EQ(shared.open_files(), 0u);
            for (const std::string& what : wrong) EXPECT_EQ(what, "");
            for (const Code code : codes) EXPECT_EQ(code == Code::ok, codes[0] == Code::ok);
            EXPECT_EQ(faulty.failed() > 0, codes[0] != Code::ok);
          },
          make, plan);
}

TEST(Faults, InSerialWriting) {
  const Program p = small_program(1);
  const std::vector<int64_t> ranks{0, 1, 2, 3};
  for (const FaultPlan& plan : kinds_of_fault())
    sweep(
        [&](FaultyStore& faulty, MemoryStore& memory) {
          bool opened = false;
          const Code code = code_of([&] {
            Writer writer(faulty, {"a", p.requests, ranks, p.fsblksize}, mode_of("w,durable", p.buffer));
            opened = true;
            std::optional<Error> problem;
            for (int t = 0; t < tasks; ++t) {
              const auto failed = attempt([&] {
                if (attempt([&] { writer.select(t); })) writer.select(t);
                persistent_steps(writer.stream(), p.steps[static_cast<size_t>(t)], t);
              });
              if (failed) problem = failed;
            }
            if (problem) throw *problem;
            writer.close();
          });
          EXPECT_TRUE(opened || plan.from_then_on || memory.paths().empty());
          if (faulty.failed() == 0) {
            EXPECT_EQ(code, Code::ok);
          }
          expect_right_or_refused(memory, p, {code});
        },
        empty, plan);
}

TEST(Faults, InSerialReading) {
  for (const auto make : {with_one_file, with_set})
    for (const FaultPlan& plan : kinds_of_fault())
      sweep(
          [&](FaultyStore& faulty, MemoryStore&) {
            const Program p = small_program(1);
            const Code all = code_of([&] { check_serially(faulty, "a", p, 30); });
            EXPECT_EQ(all == Code::ok, faulty.failed() == 0);
          },
          make, plan);
}

// A failed read must not move the position, so that a repeated read returns the same bytes.
TEST(Faults, AReadCanBeTriedAgain) {
  MemoryStore memory;
  const Program p = small_program(1);
  write_in_parallel(memory, "a", p);
  for (const int64_t buffer : {0, 30, 1000})
    for (int64_t k = 0; k < 12; ++k) {
      FaultyStore faulty(memory);
      Reader reader(faulty, "a", mode_of("r", buffer));
      reader.select(3);
      FaultPlan plan;
      plan.fail_at = k;
      plan.kind = StoreOperation::read;
      faulty.set_plan(plan);
      std::vector<std::byte> piece(80);
      for (int64_t at = 0; at < 240; at += 80) {
        const auto read = [&] { EXPECT_EQ(reader.stream().read(piece), 80u); };
        if (code_of(read) != Code::ok) {
          EXPECT_EQ(reader.stream().bytes_read(), at);
          read();
        }
        EXPECT_EQ(piece, content(3, at, 80)) << "buffer " << buffer << ", read " << k;
      }
    }
}

// A failed write must not change the stream, even if a part of the request has reached the file.
TEST(Faults, AFailedWriteIsNoPartOfTheStream) {
  for (const int64_t buffer : {0, 50, 100, 1000})
    for (int64_t k = 0; k < 20; ++k) {
      MemoryStore memory;
      FaultyStore faulty(memory);
      const std::vector<int64_t> sizes{64};
      const std::vector<int64_t> ranks{0};
      Writer writer(faulty, {"a", sizes, ranks, 64}, mode_of("w", buffer));
      FaultPlan plan;
      plan.fail_at = k;
      plan.kind = StoreOperation::write;
      plan.half_first = true;
      faulty.set_plan(plan);
      TaskModel model{64, {0}};
      WriteStream& stream = writer.stream();
      for (const int64_t bytes : {10, 20, 300, 45, 45, 64, 200, 1}) {
        if (code_of([&] { stream.write(content(0, model.total(), bytes)); }) == Code::ok)
          model.apply({Step::write, bytes});
        ASSERT_EQ(stream.bytes_written(), model.total());
        ASSERT_EQ(stream.position().block + 1, std::ssize(model.blocks));
        ASSERT_EQ(stream.position().offset, model.blocks.back());
      }
      if (attempt([&] { stream.flush(); })) stream.flush();
      if (faulty.failed() == 0) faulty.set_plan({});
      ASSERT_EQ(code_of([&] { writer.close(); }), Code::ok);
      Reader reader(memory, "a", mode_of("r"));
      EXPECT_NO_THROW(check_stream(reader.stream(), model, 0)) << "buffer " << buffer << ", write " << k;
    }
}

}  // namespace
}  // namespace sheaf::test::faults_test
