// Random programs of one or several tasks, in every mode. One to five store operations fail, and the programs
// continue after each failure. After a successful close, the file must hold every byte that a call accepted.
// A failure prints its seed:
//
//     SHEAF_ACCEPTED_SEED=17 build/bin/test_multifile --gtest_filter=Accepted.*
//
// SHEAF_ACCEPTED_RUNS=10000 sets the number of runs.
#include <gtest/gtest.h>

#include <sstream>

#include "base/warnings.hpp"
#include "multifile/keyval/keyval_writer.hpp"
#include "multifile/writer/writer.hpp"
#include "support/accepted.hpp"
#include "support/stores/faulty_store.hpp"
#include "support/variable.hpp"

namespace sheaf::test::accepted_test {

using namespace multifile;

namespace {

enum class WriteMethod { serial, parallel, collective, merged, mapped, appended };

struct AcceptedRun {
  WriteMethod method = WriteMethod::serial;
  int processes = 1;
  int64_t ntasks = 1;  // one per process, or two if the mode allows several per process
  int32_t nfiles = 1;
  std::string words;
  bool keyval = false;
  bool journal = true;
  int64_t chunk = 0;    // bytes
  int64_t buffer = 0;   // bytes
  int64_t largest = 0;  // bytes of a call
  int calls = 0;
  Accepted::Reaction reaction = Accepted::Reaction::ignore;
  uint64_t seed = 0;

  std::string describe() const {
    std::ostringstream out;
    out << "method " << static_cast<int>(method) << ", " << processes << " processes, " << ntasks
        << " tasks, " << nfiles << " files, w" << words << ", chunk " << chunk << ", buffer " << buffer
        << ", calls of at most " << largest << ", " << calls << " calls, reaction "
        << static_cast<int>(reaction);
    return out.str();
  }
};

AcceptedRun random_run(uint64_t seed) {
  Random random(seed);
  AcceptedRun r;
  r.seed = seed;
  r.method = static_cast<WriteMethod>(random.below(6));
  const bool several = r.method != WriteMethod::serial && !random.chance(4);
  r.processes = several ? 2 + static_cast<int>(random.below(4)) : 1;
  const bool multiple = (r.method == WriteMethod::serial || r.method == WriteMethod::mapped ||
                         r.method == WriteMethod::appended) &&
                        random.chance(2);
  r.ntasks = multiple ? 2 * r.processes : r.processes;
  const bool one_file = r.method == WriteMethod::serial || r.method == WriteMethod::merged;
  r.nfiles = one_file ? 1 : 1 + static_cast<int32_t>(random.below(std::min<int64_t>(2, r.ntasks)));
  r.chunk = random.chance(3) ? 64 + random.below(200) : 300 + random.below(3000);
  r.buffer = random.chance(4) ? 0 : random.chance(3) ? 100 << 10 : 1 + random.below(600);
  r.largest = random.chance(3) ? 3 * r.chunk : random.chance(2) ? r.chunk / 2 + 1 : 40;
  r.calls = 3 + static_cast<int>(random.below(12));
  const bool may_compress = r.method != WriteMethod::merged;
  if (may_compress && random.chance(3)) r.words += ",compress=lz4,frame=1k,compress_threads=0";
  if (random.chance(4)) r.words += ",durable";
  if (random.chance(4)) {
    r.words += ",journal=off";
    r.journal = false;
  }
  if (random.chance(4)) r.words += ",checksums=off";
  if (r.method == WriteMethod::collective)
    r.words += random.chance(2) ? ",collective" : ",collective,collsize=2";
  if (r.method == WriteMethod::merged)
    r.words += ",collective,collsize=" + std::to_string(r.processes) + ",cmerge";
  if (r.method == WriteMethod::collective && r.words.find("compress") == std::string::npos &&
      random.chance(4) && r.processes > 1) {
    r.words += ",buddy=1";
    r.nfiles = 2;
  }
  r.keyval = r.method != WriteMethod::merged && r.method != WriteMethod::collective && random.chance(4);
  if (r.keyval) r.words += ",keyval=inline";
  r.reaction = random.pick({Accepted::Reaction::ignore, Accepted::Reaction::repeat});
  if (!r.keyval && random.chance(3)) r.reaction = Accepted::Reaction::repeat_in_halves;
  return r;
}

template <class Writer>
void write_once(const AcceptedRun& r, Accepted& ledger, int64_t task, Writer& writer, Random& random) {
  WriteStream& stream = writer.stream();
  const auto data = ledger.next(task, random.below(r.largest) + 1);
  if (!r.keyval)
    return ledger.call(task, data, r.reaction, [&](std::span<const std::byte> some) {
      writer.append({}, some, [&] { stream.write(some); });
    });
  const uint64_t key = static_cast<uint64_t>(random.below(5));
  const RecordHead head = record_head(native_order, key, data.size());
  std::vector<std::byte> record(head.begin(), head.end());
  record.insert(record.end(), data.begin(), data.end());
  ledger.call(task, record, r.reaction, [&](std::span<const std::byte>) {
    if (!writer.awaits_retry() && put_record(stream.buffer().window(), key, data.data(), data.size())) return;
    writer.append(head, data, [&] { stream.write_filling(head, data); });
  });
}

// Makes the calls of one process, which writes one or several tasks, between open and close.
template <class Writer>
void write_alone(const AcceptedRun& r, Writer& writer, std::span<const int64_t> mine, Accepted& ledger,
                 Random& random) {
  for (int call = 0; call < r.calls; ++call) {
    if (mine.size() > 1)
      attempt([&] { writer.select(mine[static_cast<size_t>(random.below(std::ssize(mine)))]); });
    const int64_t task = mine.size() > 1 ? writer.task() : mine[0];
    write_once(r, ledger, task, writer, random);
    if (random.chance(6)) attempt([&] { writer.stream().flush(); });
    if (random.chance(8)) attempt([&] { writer.stream().ensure_free_space(random.below(r.chunk)); });
    // A commit may fail without an error only if a warning said that the journal is lost.
    if (random.chance(5) && !attempt([&] { writer.commit(); }) && !any_warnings())
      for (const int64_t t : mine) ledger.commit(t);
    yield();
  }
}

// Makes one collective call. While the call fails on any task, the tasks with rejected bytes repeat it.
void write_collectively(const AcceptedRun& r, Writer& writer, Comm& comm, Accepted& ledger,
                        std::span<const std::byte> data) {
  for (int tries = 1;; ++tries) {
    const auto write = [&] { writer.write_collectively(data, std::nullopt); };
    int64_t failed = attempt([&] { writer.append({}, data, write); }).has_value();
    if (!failed) {
      ledger.accept(comm.rank(), data);
      data = {};
    }
    comm.all_max(std::span(&failed, 1));
    if (!failed) return;
    if (r.reaction == Accepted::Reaction::ignore || tries == Accepted::max_tries) return ledger.lack(data);
  }
}

// Mixes collective and independent calls. In a merged call, task 0 records the bytes of all tasks.
void write_together(const AcceptedRun& r, Writer& writer, Comm& comm, Accepted& ledger, Random& random) {
  Random together(r.seed);  // the same seed, so that all tasks agree on the calls
  for (int call = 0; call < r.calls; ++call) {
    const int64_t most = together.chance(3) ? 1 : r.largest;
    if (r.method == WriteMethod::merged) {
      const auto data = ledger.next(comm.rank(), random.below(most));
      const auto write = [&] { writer.write_collectively(data, std::nullopt); };
      bool failed = true;
      for (int tries = 1; failed && tries <= Accepted::max_tries; ++tries) {
        failed = attempt([&] { writer.append({}, data, write); }).has_value();
        if (r.reaction == Accepted::Reaction::ignore) break;
      }
      if (failed) ledger.lack(data);
      for (int from = 0; from < comm.size(); ++from) {
        std::vector<std::byte> bytes(data);
        int64_t size = std::ssize(data);
        comm.broadcast(std::as_writable_bytes(std::span(&size, 1)), from);
        bytes.resize(static_cast<size_t>(size));
        comm.broadcast(bytes, from);
        if (comm.rank() == 0 && !failed) ledger.accept(0, bytes);
      }
      continue;
    }
    write_collectively(r, writer, comm, ledger, ledger.next(comm.rank(), random.below(most)));
    if (random.chance(5)) write_once(r, ledger, comm.rank(), writer, random);
    if (random.chance(6) && !attempt([&] { writer.commit(); }) && !any_warnings()) ledger.commit(comm.rank());
  }
}

OpenMode mode_for(const AcceptedRun& r, Comm& comm, const std::string& words) {
  return shared_mode_of(comm, words, r.buffer);
}

void write_mapped(Store& store, const AcceptedRun& r, Comm& comm, Accepted& ledger, Random& random,
                  bool& closed) {
  const int64_t each = r.ntasks / r.processes;
  std::vector<int64_t> mine;
  std::vector<MappedWriteTask> places;
  for (int64_t t = comm.rank() * each; t < (comm.rank() + 1) * each; ++t) {
    mine.push_back(t);
    places.push_back(
        {t, r.chunk,
         layout::place_blockwise(static_cast<int32_t>(t), static_cast<int32_t>(r.ntasks), r.nfiles)});
  }
  std::optional<Writer> writer;
  const auto create = [&](const std::string& words) {
    writer.emplace(store, comm.duplicate(), MappedWriteRequest{"a", r.nfiles, 64, places},
                   mode_for(r, comm, words));
  };
  const auto append = [&] {
    writer.emplace(store, comm.duplicate(), MappedAppendRequest{{"a", false, mine}, 0},
                   mode_for(r, comm, "append" + r.words));
  };
  if (attempt([&] { r.method == WriteMethod::appended ? append() : create("w" + r.words); })) return;
  write_alone(r, *writer, mine, ledger, random);
  closed = !attempt([&] { writer->close(); });
}

void write_serial(Store& store, const AcceptedRun& r, Comm& comm, Accepted& ledger, Random& random,
                  bool& closed) {
  const std::vector<int64_t> chunks(static_cast<size_t>(r.ntasks), r.chunk);
  std::vector<int64_t> ranks(chunks.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  std::optional<Writer> writer;
  if (attempt([&] {
        writer.emplace(store, SerialWriteRequest{"a", chunks, ranks, 64}, mode_for(r, comm, "w" + r.words));
      }))
    return;
  write_alone(r, *writer, ranks, ledger, random);
  closed = !attempt([&] { writer->close(); });
}

void write_parallel(Store& store, const AcceptedRun& r, Comm& comm, Accepted& ledger, Random& random,
                    bool& closed) {
  std::optional<Writer> writer;
  const auto open = [&] {
    ParallelWriteRequest request;
    request.path = "a";
    request.nfiles = r.nfiles;
    request.fsblksize = 64;
    request.chunk_size = r.chunk;
    writer.emplace(store, comm.duplicate(), std::move(request), mode_for(r, comm, "w" + r.words));
  };
  if (attempt(open)) return;
  const int64_t mine[] = {comm.rank()};
  if (writer->collective()) {
    write_together(r, *writer, comm, ledger, random);
  } else {
    write_alone(r, *writer, mine, ledger, random);
  }
  closed = !attempt([&] { writer->close(); });
}

struct RunResult {
  std::vector<int> closed;  // per process: 1 success, 0 failure, -1 if the process did not reach the close
  int64_t operations = 0;
  int64_t failed = 0;
};

RunResult run_once(const AcceptedRun& r, MemoryStore& memory, const FaultPlan& plan, Accepted& ledger) {
  if (r.method == WriteMethod::appended) {  // appends to data that was written without faults
    TaskHandles sound(memory);
    run_fibers(fibers(r.processes, r.seed + 1), [&](Comm& comm) {
      AcceptedRun before = r;
      before.method = WriteMethod::mapped;
      Random random(r.seed + 77 + static_cast<uint64_t>(comm.rank()));
      bool closed = false;
      write_mapped(sound, before, comm, ledger, random, closed);
      require(closed, "writing what is appended to");
    });
  }
  FaultyStore faulty(memory, plan);
  TaskHandles store(faulty);
  RunResult result;
  result.closed.assign(static_cast<size_t>(r.processes), 0);
  run_fibers(fibers(r.processes, r.seed + 2), [&](Comm& comm) {
    Random random(r.seed * 31 + static_cast<uint64_t>(comm.rank()));
    bool closed = false;
    const auto write = r.method == WriteMethod::serial ? write_serial
                       : r.method == WriteMethod::mapped || r.method == WriteMethod::appended
                           ? write_mapped
                           : write_parallel;
    write(store, r, comm, ledger, random, closed);
    result.closed[static_cast<size_t>(comm.rank())] = closed;
  });
  EXPECT_EQ(store.open_files(), 0u);
  result.operations = faulty.operations();
  result.failed = faulty.failed();
  return result;
}

void check(const AcceptedRun& r, MemoryStore& memory, const Accepted& ledger, const RunResult& result) {
  for (const int closed : result.closed) EXPECT_EQ(closed, result.closed[0]) << "the close has one outcome";
  if (result.closed[0]) {
    ledger.expect_all_in(memory);
  } else if (r.method != WriteMethod::appended) {
    ledger.expect_beginnings_in(memory, false, r.words.find("compress") != std::string::npos);
  }
}

// Runs the program once without a fault to count its operations. Then runs it `faulty_runs` times with random
// sets of failing operations.
void campaign(uint64_t seed, int faulty_runs) {
  const AcceptedRun r = random_run(seed);
  SCOPED_TRACE("SHEAF_ACCEPTED_SEED=" + std::to_string(seed) + ": " + r.describe());
  int64_t operations = 0;
  for (int i = 0; i <= faulty_runs; ++i) {
    FaultPlan plan;
    std::string told = "no operation fails";
    if (i > 0) {
      Random random(seed * 1000 + static_cast<uint64_t>(i));
      const int errors[] = {EIO, ENOSPC, EINTR, EDQUOT, EMFILE};
      plan.errno_value = errors[random.below(5)];
      plan.half_first = random.chance(2);
      plan.fail_at = random.below(operations);
      told = "failing with " + std::to_string(plan.errno_value) + ": " + std::to_string(plan.fail_at);
      const int64_t range = random.chance(2) ? operations : 12;  // failures anywhere, or close together
      for (int64_t more = random.below(5); more > 0; --more) {
        plan.also_at.push_back(range == operations ? random.below(operations)
                                                   : plan.fail_at + random.below(range));
        told += ' ' + std::to_string(plan.also_at.back());
      }
    }
    SCOPED_TRACE("run " + std::to_string(i) + ", " + told);
    take_warnings();
    MemoryStore memory;
    Accepted ledger(r.ntasks);
    RunResult result;
    ASSERT_NO_THROW(result = run_once(r, memory, plan, ledger));
    if (i == 0) {
      ASSERT_EQ(result.closed[0], 1) << "without a failure";
      operations = result.operations;
    }
    check(r, memory, ledger, result);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(Accepted, BytesAreThereIfTheCloseSucceedsWhateverFailedBefore) {
  constexpr int per_program = 5;
  if (const uint64_t one = variable("SHEAF_ACCEPTED_SEED", 0)) return campaign(one, 20);
  const uint64_t programs = variable("SHEAF_ACCEPTED_RUNS", 1000) / per_program;
  for (uint64_t seed = 1; seed <= programs && !HasFailure(); ++seed) campaign(seed, per_program);
}

}  // namespace
}  // namespace sheaf::test::accepted_test
