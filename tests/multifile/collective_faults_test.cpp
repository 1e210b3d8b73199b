// The k-th operation of the store fails in collective writing and reading, for each SHEAF_FAULT_STEP-th k (3;
// the first k differs between sweeps). Every task must get the error, no task may hang, and a closed file
// must be correct.
#include <gtest/gtest.h>

#include <functional>

#include "support/collective_programs.hpp"
#include "support/stores/faulty_store.hpp"
#include "support/variable.hpp"

namespace sheaf::test::collective_faults_test {

using namespace multifile;

namespace {

const auto fault_step = static_cast<int64_t>(variable("SHEAF_FAULT_STEP", 3));

std::vector<CollectiveProgram> programs() {
  std::vector<CollectiveProgram> all;
  CollectiveProgram p = simple(4, 100, 7, 90, 2);  // buffered
  p.calls[3].alone[1] = 250;
  all.push_back(p);
  p.nfiles = 2;
  all.push_back(p);
  p.nfiles = 1;
  p.merge = true;
  all.push_back(p);
  all.push_back(simple(3, 150'000, 3, 140'000, 3));  // written in the call
  all.push_back(simple(3, 150'000, 3, 600'000, 2));  // written in the call, in several parcels
  p = simple(3, 500'000, 2, 400'000, 3);
  p.merge = true;
  all.push_back(p);
  all.push_back(simple(4, 100'000, 3, 100'000));  // large, with automatic groups: direct
  p = simple(3, 1 << 20, 30, 60'000, 3);          // many rounds of buffered calls
  all.push_back(p);
  // One task writes an oversized request independently, in a call that is no round.
  p = simple(4, 1 << 20, 9, 100);
  p.calls[4].together[1] = 400'000;
  p.calls[6].together[1] = 20'000;
  all.push_back(p);
  return all;
}

std::vector<FaultPlan> kinds_of_fault() {
  std::vector<FaultPlan> plans(3);
  plans[1].from_then_on = true;
  plans[2].half_first = true;
  plans[2].errno_value = ENOSPC;
  return plans;
}

// Returns the first operation that fails in the next sweep. It differs between kinds of fault, and for each
// kind between programs.
int64_t first_fault() {
  static int64_t sweeps = 0;
  static const auto kinds = static_cast<int64_t>(kinds_of_fault().size());
  const int64_t sweep = sweeps++;
  return (sweep / kinds + sweep % kinds) % fault_step;
}

// All tasks repeat a failed call once, as programs do that wait until the disk has space.
void persistent_calls(Writer& writer, const CollectiveProgram& p, Comm& comm) {
  const auto me = static_cast<size_t>(writer.task());
  int64_t done = 0;
  const auto write = [&](int64_t bytes, bool together) {
    for (int tries = 2; tries > 0; --tries) {
      const auto problem = attempt([&] {
        const auto data = content(writer.task(), done, bytes);
        together ? writer.collective()->write(data, std::nullopt) : writer.stream().write(data);
      });
      // In these programs, a collective call fails only if it is a round, so all tasks of the file must see
      // the failure.
      if (together) {
        int64_t failed = problem.has_value();
        writer.local().all_sum(std::span(&failed, 1));
        require(failed == (problem ? writer.local().size() : 0),
                "a collective call failed on some tasks only");
      }
      if (problem && tries == 1) throw *problem;
      if (!problem) break;
    }
    done += bytes;
  };
  std::optional<Error> problem;
  for (const auto& call : p.calls) {
    if (!problem && call.alone[me] > 0) problem = attempt([&] { write(call.alone[me], false); });
    const auto failed = attempt([&] { write(call.together[me], true); });
    if (!problem) problem = failed;
    // Tasks that stop early would leave the others waiting.
    int64_t any = problem.has_value();
    comm.all_max(std::span(&any, 1));
    if (any) break;
  }
  if (problem) throw *problem;
}

std::vector<Code> write_through(FaultyStore& faulty, const CollectiveProgram& p) {
  TaskHandles shared(faulty);
  std::vector<Code> codes(p.requests.size(), Code::ok);
  run_fibers(fibers(p.ntasks()), [&](Comm& comm) {
    codes[static_cast<size_t>(comm.rank())] = code_of([&] {
      Writer writer(shared, comm.duplicate(), request_of("a", p, comm.rank()),
                    shared_mode_of(comm, "w,durable," + p.words()));
      std::optional<Error> problem;
      try {
        persistent_calls(writer, p, comm);
      } catch (const Error& e) {
        problem = e;
      }
      const auto closing = attempt([&] { writer.close(); });
      agree(comm, problem ? problem : closing);
    });
  });
  EXPECT_EQ(shared.open_files(), 0u);
  return codes;
}

TEST(CollectiveFaults, InWriting) {
  int number = 0;
  for (const CollectiveProgram& p : programs()) {
    SCOPED_TRACE("program " + std::to_string(number++));
    for (FaultPlan plan : kinds_of_fault())
      for (plan.fail_at = first_fault();; plan.fail_at += fault_step) {
        SCOPED_TRACE("operation " + std::to_string(plan.fail_at) +
                     (plan.from_then_on ? " and all later ones" : ""));
        MemoryStore memory;
        FaultyStore faulty(memory, plan);
        const std::vector<Code> codes = write_through(faulty, p);
        for (const Code code : codes) ASSERT_EQ(code == Code::ok, codes[0] == Code::ok);
        const Code found = code_of([&] { Reader(memory, "a", mode_of("r")); });
        if (faulty.failed() == 0) {
          ASSERT_EQ(codes[0], Code::ok);
        }
        if (codes[0] == Code::ok) {
          ASSERT_EQ(found, Code::ok);
        }
        if (found == Code::ok && !Reader(memory, "a", mode_of("r")).facts().unclosed) {
          ASSERT_NO_THROW(check_program(memory, "a", p));
        }
        if (faulty.failed() == 0) break;
        ASSERT_LT(plan.fail_at, 2000);
      }
  }
}

// A temporary failure of a collector's write must lose no data: the collector writes buffered data later.
TEST(CollectiveFaults, AFailureThatGoesAwayCostsNoByte) {
  for (const int64_t bytes : {200, 60'000, 150'000, 700'000}) {
    CollectiveProgram p = simple(5, 1 << 20, 14, bytes, 3);
    for (int64_t k = 0; k < 12; ++k) {
      MemoryStore memory;
      FaultyStore faulty(memory);
      FaultPlan plan;
      plan.kind = StoreOperation::write;
      plan.fail_at = k + 4;  // skip the metadata operations of the open
      plan.half_first = true;
      faulty.set_plan(plan);
      const std::vector<Code> codes = write_through(faulty, p);
      if (codes[0] != Code::ok) continue;  // the fault hit the close
      EXPECT_NO_THROW(check_program(memory, "a", p)) << bytes << " bytes, write " << k;
    }
  }
}

// Sizes of one reading step: bytes read collectively, then bytes that each task reads independently.
struct ReadingCall {
  std::function<int64_t(int task)> alone, together;
};

std::vector<ReadingCall> equal_parts(const CollectiveProgram& p) {
  std::vector<int64_t> parts;
  for (int task = 0; task < p.ntasks(); ++task)
    parts.push_back(static_cast<int64_t>(p.expected(task).second.size() / 8 + 1));
  const auto part = [parts](int task) { return parts[static_cast<size_t>(task)]; };
  return std::vector<ReadingCall>(9, {[](int) { return 0; }, part});
}

// Whichever operation fails, a collective read must have the same result on all tasks. A repeated call must
// resume at the same position.
void read_with_faults(const CollectiveProgram& p, const std::vector<ReadingCall>& calls) {
  MemoryStore memory;
  write_program(memory, "a", p, 1);
  std::vector<std::vector<std::byte>> contents;
  for (int task = 0; task < p.ntasks(); ++task) contents.push_back(p.expected(task).second);
  for (FaultPlan plan : kinds_of_fault())
    for (plan.fail_at = first_fault();; plan.fail_at += fault_step) {
      SCOPED_TRACE("operation " + std::to_string(plan.fail_at));
      FaultyStore faulty(memory, plan);
      TaskHandles shared(faulty);
      std::vector<Code> codes(p.requests.size(), Code::ok);
      std::vector<std::string> wrong(p.requests.size());
      run_fibers(fibers(p.ntasks()), [&](Comm& comm) {
        const auto me = static_cast<size_t>(comm.rank());
        codes[me] = code_of([&] {
          Reader reader(shared, comm.duplicate(), "a",
                        mode_of(p.collsize > 0 ? "r,collective=2" : "r,collective=auto"));
          ReadStream& stream = reader.stream();
          const auto& expected = contents[me];
          std::vector<std::byte> found;
          std::optional<Error> problem;
          const auto take = [&](int64_t bytes, bool together) {
            std::vector<std::byte> out(static_cast<size_t>(stream.available(bytes)));
            const int64_t before = stream.bytes_read();
            for (int tries = 2; tries > 0; --tries) {
              problem = attempt(
                  [&] { together ? reader.collective()->read(out, std::nullopt) : void(stream.read(out)); });
              if (problem && stream.bytes_read() != before) wrong[me] = "a failed read has moved";
              if (together) {
                int64_t failed = problem.has_value();
                reader.local().all_sum(std::span(&failed, 1));
                if (failed != (problem ? reader.local().size() : 0))
                  wrong[me] = "a collective read failed on some tasks only";
              }
              if (!problem) break;
            }
            if (!problem) found.insert(found.end(), out.begin(), out.end());
          };
          for (const ReadingCall& call : calls) {
            take(call.alone(comm.rank()), false);
            int64_t any = problem.has_value();
            comm.all_max(std::span(&any, 1));
            if (!any) {
              take(call.together(comm.rank()), true);
              any = problem.has_value();
              comm.all_max(std::span(&any, 1));
            }
            if (any) break;
          }
          if (!std::equal(found.begin(), found.end(), expected.begin())) wrong[me] = "wrong bytes";
          const auto closing = attempt([&] { reader.close(); });
          agree(comm, problem ? problem : closing);
        });
      });
      ASSERT_EQ(shared.open_files(), 0u);
      for (const std::string& w : wrong) ASSERT_EQ(w, "");
      for (const Code code : codes) ASSERT_EQ(code == Code::ok, codes[0] == Code::ok);
      if (faulty.failed() == 0) {
        ASSERT_EQ(codes[0], Code::ok);
        break;
      }
      ASSERT_LT(plan.fail_at, 2000);
    }
}

TEST(CollectiveFaults, InReading) {
  int number = 0;
  for (const CollectiveProgram& p : programs()) {
    if (p.merge) continue;
    SCOPED_TRACE("program " + std::to_string(number++));
    read_with_faults(p, equal_parts(p));
  }
}

// The failing calls are no rounds: one task reads independently, because it skipped its prefetched data or
// requests more than ever before.
TEST(CollectiveFaults, InReadingAloneBetweenRounds) {
  const CollectiveProgram p = simple(4, 1 << 20, 8, 120'000, 2);
  std::vector<ReadingCall> calls;
  for (int call = 0; call < 12; ++call)
    calls.push_back({[call](int task) { return task == 2 && call % 5 == 2 ? 300'000 : 0; },
                     [call](int task) { return task == 1 && call % 5 == 4 ? 290'000 : 2'000 + 100 * task; }});
  read_with_faults(p, calls);
}

}  // namespace
}  // namespace sheaf::test::collective_faults_test
