// Saves of one and of several tasks and hosts, from their open to their commit.
#include "multifile/saves/retention.hpp"
#include "multifile/saves/save_files.hpp"
#include "multifile/saves/saving.hpp"
#include "support/hosts_store.hpp"
#include "support/stores/faulty_store.hpp"
#include "support/stores/recording_store.hpp"

namespace sheaf::test::save_test {
namespace {

using namespace saving;

class Saves : public ::testing::TestWithParam<SaveCase> {};

std::vector<SaveCase> cases() {
  return {
      {.ntasks = 1},
      {.ntasks = 4},
      {.ntasks = 4, .per_host = 2, .is_local = false},
      {.ntasks = 5, .per_host = 1, .is_local = false},
      {.ntasks = 6, .per_host = 2, .words = ",files=2", .is_local = false},
      {.ntasks = 3, .words = ",files=3"},
      {.ntasks = 3, .words = ",compress=lz4,frame=1k,compress_threads=0"},
      {.ntasks = 1, .words = ",compress=zstd,frame=1k"},
      {.ntasks = 6, .per_host = 2, .words = ",compress=lz4,frame=1k,compress_threads=0", .is_local = false},
      {.ntasks = 4, .per_host = 2, .words = ",files=1,compress=lz4,frame=1k", .is_local = false},
      {.ntasks = 4, .words = ",files=2,compress=lz4,frame=1k,compress_threads=0"},
      {.ntasks = 3, .words = ",checksums=off"}};
}
INSTANTIATE_TEST_SUITE_P(Hosts, Saves, ::testing::ValuesIn(cases()));

TEST_P(Saves, BecomeDurable) {
  const SaveCase& c = GetParam();
  MemoryStore memory;
  run_fibers(hosted(c), [&](Comm& comm) {
    SavingProcess process;
    for (int number = 1; number <= 3; ++number) {
      const auto s = save(comm, memory, process, c, number);
      EXPECT_EQ(s->look(), SaveState::captured);
      comm.barrier();
      if (comm.rank() == 0) {
        EXPECT_EQ(generation_at(memory, c, {1, 2, 3}), number - 1);
      }
      comm.barrier();
      EXPECT_EQ(outcome(process, *s), SaveState::durable);
      if (comm.rank() == 0) {
        EXPECT_EQ(generation_at(memory, c, {1, 2, 3}), number);
      }
      comm.barrier();
    }
  });
  for (const std::string& name : memory.paths())
    EXPECT_TRUE(name.find("sheaf-tmp") == std::string::npos && !name.ends_with(".lease")) << name;
}

TEST_P(Saves, HostsShareNoUnitAndReadNothingUnpublished) {
  const SaveCase& c = GetParam();
  for (const Coherence coherence : {Coherence::close_to_open, Coherence::coherent}) {
    SimulatedHosts hosts({.coherence = coherence});
    run_fibers(hosted(c), [&](Comm& comm) {
      HostsStore store(hosts, comm.rank() / c.per_host, comm.rank());
      SavingProcess process;
      SaveCase there = c;
      there.is_local = false;
      for (int number = 1; number <= 2; ++number) {
        const auto s = save(comm, store, process, there, number);
        EXPECT_EQ(outcome(process, *s), SaveState::durable);
        if (comm.rank() == 0) {
          EXPECT_EQ(generation_at(store, c, {1, 2}), number);
        }
        comm.barrier();
      }
    });
    const HostsCounts counts = hosts.counts();
    EXPECT_EQ(counts.shared_units, 0);
    EXPECT_EQ(counts.mixed_units, 0);
    EXPECT_EQ(counts.foreign_bytes, 0);
    for (const std::string& example : counts.examples) ADD_FAILURE() << example;
  }
}

// A job that dies after any number of changes. The next job finds the old generation or the new one, and may
// complete the new one.
TEST_P(Saves, SurviveAKillAtEveryStep) {
  const SaveCase& c = GetParam();
  MemoryStore memory;
  run_fibers(hosted(c), [&](Comm& comm) {
    SavingProcess process;
    const auto s = save(comm, memory, process, c, 1);
    EXPECT_EQ(outcome(process, *s), SaveState::durable);
  });
  MemoryStore under;
  for (const std::string& name : memory.paths()) under.set_contents(name, memory.contents(name));
  RecordingStore tape(under);
  for (const std::string& name : memory.paths()) tape.open(name, Access::write)->status();
  size_t captured = 0, durable = 0;
  run_fibers(hosted(c), [&](Comm& comm) {
    SavingProcess process;
    const auto s = save(comm, tape, process, c, 2);
    captured = std::max(captured, tape.length());
    EXPECT_EQ(outcome(process, *s), SaveState::durable);
    if (comm.rank() == 0) durable = tape.length();
  });
  ASSERT_GT(durable, captured);
  bool finished_one = false;
  for (size_t prefix = 0; prefix <= tape.length(); ++prefix)
    for (uint64_t loss = 0; loss <= 3; ++loss) {
      SCOPED_TRACE("after " + std::to_string(prefix) + " changes, the last: " +
                   (prefix > 0 ? tape.describe(prefix - 1) : "none") + "; loss " + std::to_string(loss));
      MemoryStore state;
      loss == 0 ? tape.replay(prefix, state) : tape.replay_losing_unsynced(prefix, loss, state);
      for (const std::string& name : memory.paths())
        if (!state.status(name).exists && prefix == 0) state.set_contents(name, memory.contents(name));
      const int found = generation_at(state, c, {1, 2});
      ASSERT_GE(found, prefix >= durable ? 2 : 1);
      const bool finished = saves::resume_saves(state, c.path);
      finished_one |= finished && found == 1;
      const int then = generation_at(state, c, {1, 2});
      ASSERT_EQ(then, finished ? 2 : found);
      for (const std::string& name : state.paths()) ASSERT_EQ(name.find(".save."), std::string::npos) << name;
    }
  EXPECT_TRUE(finished_one) << "no state could be completed";
}

// The k-th operation of a task fails. What a task was told is true.
TEST_P(Saves, KeepTheirPromiseWhenAnOperationFails) {
  const SaveCase& c = GetParam();
  for (const int victim : {0, c.ntasks - 1})
    for (const bool from_then_on : {false, true})
      for (int64_t k = 0;; ++k) {
        SCOPED_TRACE("operation " + std::to_string(k) + " of task " + std::to_string(victim) +
                     (from_then_on ? " and all later ones" : ""));
        MemoryStore memory;
        run_fibers(hosted(c), [&](Comm& comm) {
          SavingProcess process;
          EXPECT_EQ(outcome(process, *save(comm, memory, process, c, 1)), SaveState::durable);
        });
        FaultyStore faulty(memory, {.fail_at = k, .from_then_on = from_then_on, .errno_value = ENOSPC});
        int told_durable = 0, told_failed = 0, refused = 0;
        run_fibers(hosted(c), [&](Comm& comm) {
          SavingProcess process;
          Store& store = comm.rank() == victim ? static_cast<Store&>(faulty) : memory;
          std::shared_ptr<saves::TaskSave> s;
          if (attempt([&] { s = save(comm, store, process, c, 2); })) {
            ++refused;
          } else {
            const SaveState state = outcome(process, *s, 3000);
            if (state == SaveState::durable) ++told_durable;
            if (state == SaveState::failed) ++told_failed;
          }
        });
        ASSERT_TRUE(refused == 0 || refused == c.ntasks) << refused;
        const int found = generation_at(memory, c, {1, 2});
        if (told_durable > 0) {
          ASSERT_EQ(found, 2);
        }
        if (faulty.failed() == 0) {
          ASSERT_EQ(told_durable, c.ntasks);
          break;
        }
        if (told_failed > 0 && told_durable > 0) ADD_FAILURE() << "tasks were told different outcomes";
        if (::testing::Test::HasFailure()) {
          std::string text;
          for (const OperationRecord& r : faulty.log())
            text += "\n  " + std::string(name_of(r.kind)) + ' ' + r.path + (r.failed ? " FAILED" : "");
          FAIL() << text;
        }
        ASSERT_LT(k, 2000);
      }
}

// Returns the bytes of all physical files, without their records.
int64_t bytes_of_files(MemoryStore& memory) {
  int64_t bytes = 0;
  for (const std::string& name : memory.paths())
    if (name.find(".save.") == std::string::npos && !name.ends_with(".lease"))
      bytes += std::ssize(memory.contents(name));
  return bytes;
}

TEST(CompressedSaves, AreCompressedAfterTheClose) {
  for (const bool shares : {false, true}) {
    SaveCase c{.ntasks = 4, .per_host = 2, .words = ",compress=lz4,frame=4k", .bytes = 100'000};
    if (shares) c.words += ",files=1";
    MemoryStore memory;
    run_fibers(hosted(c), [&](Comm& comm) {
      SavingProcess process;
      const auto s = save(comm, memory, process, c, 1);
      comm.barrier();
      if (comm.rank() == 0 && !shares) {
        EXPECT_LT(bytes_of_files(memory), 10'000) << "only metadata of the open";
      }
      const int64_t captured = s->bytes().captured;
      if (shares) {
        EXPECT_LT(captured, c.bytes) << "hosts that share a file agree on its compressed sizes";
        EXPECT_EQ(process.saves->writer().kept_memory().allocated(), 0);
      } else {
        EXPECT_GE(captured, c.bytes + 7 * comm.rank());
        EXPECT_GT(process.saves->writer().kept_memory().in_use(), 0);
      }
      comm.barrier();
      EXPECT_EQ(outcome(process, *s), SaveState::durable);
      EXPECT_EQ(s->bytes().written, s->bytes().captured);
      EXPECT_EQ(process.saves->writer().kept_memory().in_use(), 0);
    });
    EXPECT_EQ(generation_at(memory, c, {1}), 1);
    EXPECT_LT(bytes_of_files(memory), 4 * c.bytes);
  }
}

TEST(CompressedSaves, AreCompressedEarlierIfMemoryIsExhausted) {
  const SaveCase c{.ntasks = 3, .words = ",compress=lz4,async_memory=1", .bytes = 9'000'000};
  MemoryStore memory;
  run_fibers(hosted(c), [&](Comm& comm) {
    SavingProcess process;
    const auto s = save(comm, memory, process, c, 1);
    EXPECT_LE(process.saves->writer().kept_memory().allocated(), int64_t{2} << 20);
    EXPECT_LE(process.saves->writer().memory().allocated(), int64_t{2} << 20);
    EXPECT_EQ(outcome(process, *s), SaveState::durable);
    EXPECT_EQ(s->bytes().written, s->bytes().captured);
  });
  EXPECT_EQ(generation_at(memory, c, {1}), 1);
}

TEST(SavesOfOneName, AreCommittedInTheirOrder) {
  const SaveCase c{.words = ",pending=queue"};
  MemoryStore memory;
  SavingProcess process;
  const auto comm = self_comm();
  const auto first = save(*comm, memory, process, c, 1), second = save(*comm, memory, process, c, 2),
             third = save(*comm, memory, process, c, 3);
  int last = 0;
  while (!is_final(third->look())) {
    process.run();
    const int now = generation_at(memory, c, {1, 2, 3});
    EXPECT_GE(now, last);
    last = now;
  }
  EXPECT_EQ(last, 3);
  EXPECT_EQ(first->look(), SaveState::durable);
  EXPECT_EQ(second->look(), SaveState::durable);
  EXPECT_FALSE(memory.status("a.lease").exists);
}

TEST(SavesOfOneName, AreSkippedWhileOneIsPending) {
  const SaveCase c{.words = ",pending=skip"};
  MemoryStore memory;
  SavingProcess process;
  const auto comm = self_comm();
  const auto first = save(*comm, memory, process, c, 1), second = save(*comm, memory, process, c, 2);
  EXPECT_EQ(second->look(), SaveState::skipped);
  EXPECT_FALSE(second->wait(SaveState::captured));
  EXPECT_EQ(outcome(process, *first), SaveState::durable);
  EXPECT_EQ(generation_at(memory, c, {1, 2}), 1);
  EXPECT_EQ(outcome(process, *save(*comm, memory, process, c, 3)), SaveState::durable);
  EXPECT_EQ(memory.paths(), std::vector<std::string>{"a"});
}

TEST(SavesOfOneName, WaitForThePendingOne) {
  const SaveCase c;
  MemoryStore memory;
  SavingProcess process;
  const auto comm = self_comm();
  const auto first = save(*comm, memory, process, c, 1);
  const auto second = save(*comm, memory, process, c, 2);
  EXPECT_EQ(first->look(), SaveState::durable);
  EXPECT_EQ(generation_at(memory, c, {1, 2}), 1);
  EXPECT_EQ(outcome(process, *second), SaveState::durable);
}

TEST(SavesOfOneName, AFailureReachesTheNextOpenOnce) {
  const SaveCase c;
  MemoryStore memory;
  FaultyStore broken(memory);
  SavingProcess process;
  const auto comm = self_comm();
  const auto first = save(*comm, broken, process, c, 1);
  broken.set_plan({.fail_at = 0, .errno_value = ENOSPC, .kind = StoreOperation::write});
  EXPECT_EQ(code_of([&] { save(*comm, broken, process, c, 2); }), Code::no_space);
  EXPECT_EQ(first->look(), SaveState::failed);
  EXPECT_NE(std::string(first->failure().value().what()).find("'a'"), std::string::npos);
  EXPECT_EQ(outcome(process, *save(*comm, broken, process, c, 3)), SaveState::durable);
  EXPECT_EQ(first->look(), SaveState::failed) << "the outcome is final";
  EXPECT_EQ(memory.paths(), std::vector<std::string>{"a"}) << "the failed save has left nothing";
}

TEST(Retention, KeepsTheNewestOnes) {
  MemoryStore memory;
  SavingProcess process;
  const auto comm = self_comm();
  memory.set_contents("step.0000.sion", {});  // no multifile
  for (int number = 1; number <= 5; ++number) {
    SaveCase c{.words = ",keep=2"};
    c.path = "step.000" + std::to_string(number) + ".sion";
    const auto s = save(*comm, memory, process, c, number);
    if (number > 1) {
      EXPECT_EQ(saves::latest_save(memory, "step.*.sion"), "step.000" + std::to_string(number - 1) + ".sion");
    }
    EXPECT_EQ(outcome(process, *s), SaveState::durable);
    EXPECT_EQ(saves::latest_save(memory, "step.*.sion"), c.path);
  }
  EXPECT_EQ(memory.paths(), (std::vector<std::string>{"step.0000.sion", "step.0004.sion", "step.0005.sion"}));
}

TEST(Retention, SeriesDifferInTheirLastDigits) {
  EXPECT_EQ(saves::series_of("d2/run3.step.0040.sion"), "d2/run3.step.*.sion");
  EXPECT_EQ(saves::series_of("d2/restart"), "");
  EXPECT_EQ(saves::series_of("a[1].7"), "a\\[1\\].*");
}

}  // namespace
}  // namespace sheaf::test::save_test
