// What tasks and other jobs learn of a save whose records are gone.
#include "multifile/saves/recorded_save.hpp"
#include "multifile/saves/save_files.hpp"
#include "multifile/saves/saving.hpp"
#include "support/stores/faulty_store.hpp"

namespace sheaf::test::save_outcome_test {
namespace {

using namespace saving;

constexpr SaveCase two_tasks{.ntasks = 2};

// Saves generation 1, then captures generation 2. Task 0 does the first `requests` of it and dies. Another
// job takes over the name. Returns what task 1 learns, which has done its own part.
SaveState outcome_after_death(MemoryStore& memory, int requests, bool& found_by_name) {
  SaveState learned = SaveState::captured;
  run_fibers(hosted(two_tasks), [&](Comm& comm) {
    SavingProcess process;
    EXPECT_EQ(outcome(process, *save(comm, memory, process, two_tasks, 1)), SaveState::durable);
    comm.barrier();
    const auto second = save(comm, memory, process, two_tasks, 2);
    process.run(comm.rank() == 0 ? requests : 100);
    comm.barrier();
    if (comm.rank() == 0) {
      ProcessSaves other_job(BackgroundWriter::ServedBy::callers);
      const auto seen =
          saves::find_save(other_job, std::shared_ptr<Store>(std::shared_ptr<Store>(), &memory), "a");
      saves::resume_saves(memory, "a");
      found_by_name = seen->look() == SaveState::durable;
    }
    comm.barrier();
    if (comm.rank() == 1) learned = second->look();
    comm.barrier();
  });
  return learned;
}

// The lead has died, and another job has removed or completed the save.
TEST(SaveOutcome, WithoutRecordsIsThatOfTheName) {
  bool any_durable = false, any_failed = false;
  for (int requests = 0; requests < 12; ++requests) {
    MemoryStore memory;
    bool found_by_name = false;
    const SaveState learned = outcome_after_death(memory, requests, found_by_name);
    const bool is_new = generation_at(memory, two_tasks, {1, 2}) == 2;
    EXPECT_EQ(learned, is_new ? SaveState::durable : SaveState::failed) << requests;
    EXPECT_EQ(found_by_name, is_new) << requests;
    (is_new ? any_durable : any_failed) = true;
  }
  EXPECT_TRUE(any_durable && any_failed);
}

// A task that asks late learns that its save was durable, although later ones have replaced it or are about
// to.
TEST(SaveOutcome, IsKnownAfterLaterSaves) {
  SaveCase queued = two_tasks;
  queued.words = ",pending=queue";
  bool all_durable = false;
  for (int requests = 0; !all_durable; ++requests) {
    ASSERT_LT(requests, 1000);
    MemoryStore memory;
    run_fibers(hosted(queued), [&](Comm& comm) {
      SavingProcess process;
      std::vector<std::shared_ptr<saves::TaskSave>> all;
      for (int number = 1; number <= 3; ++number) all.push_back(save(comm, memory, process, queued, number));
      comm.barrier();
      if (comm.rank() == 1) process.run(100);
      comm.barrier();
      if (comm.rank() == 0) process.run(requests);
      comm.barrier();
      if (comm.rank() == 1) {
        const int reached = generation_at(memory, queued, {1, 2, 3});
        for (int number = 1; number <= 3; ++number) {
          const SaveState state = all[static_cast<size_t>(number) - 1]->look();
          EXPECT_NE(state, SaveState::failed) << requests;
          EXPECT_TRUE(state == SaveState::durable || number >= reached) << requests;
        }
        all_durable = all.back()->look() == SaveState::durable;
      }
      comm.barrier();
    });
  }
}

// Another program has replaced the multifile after the commit. Whether it was durable is not known any more.
TEST(SaveOutcome, IsAFailureIfAnotherProgramHasTheName) {
  MemoryStore memory;
  run_fibers(hosted(two_tasks), [&](Comm& comm) {
    SavingProcess process;
    const auto s = save(comm, memory, process, two_tasks, 1);
    comm.barrier();
    process.run(100);
    comm.barrier();
    if (comm.rank() == 0) {
      EXPECT_EQ(outcome(process, *s), SaveState::durable);
      memory.set_contents("a", {});
    }
    comm.barrier();
    if (comm.rank() == 1) {
      EXPECT_EQ(s->look(), SaveState::failed);
      EXPECT_EQ(s->failure().value().code(), Code::foreign);
    }
    comm.barrier();
  });
}

// A record that cannot be read is no reason to remove a save that may be whole.
TEST(SaveOutcome, OfAnUnreadableRecordIsLeftToALaterJob) {
  bool any_finished = false;
  for (int requests = 0; requests < 12; ++requests) {
    MemoryStore memory;
    run_fibers(hosted(two_tasks), [&](Comm& comm) {
      SavingProcess process;
      const auto s = save(comm, memory, process, two_tasks, 1);
      process.run(comm.rank() == 0 ? requests : 100);
      comm.barrier();
    });
    if (saves::saves_beside(memory, "a").empty()) continue;  // committed
    FaultyStore faulty(memory, {.fail_at = 0, .errno_value = EIO, .kind = StoreOperation::read});
    EXPECT_EQ(code_of([&] { saves::resume_saves(faulty, "a"); }), Code::io);
    EXPECT_FALSE(saves::saves_beside(memory, "a").empty());
    const bool finished = saves::resume_saves(memory, "a");
    EXPECT_EQ(generation_at(memory, two_tasks, {1}), finished ? 1 : 0);
    any_finished |= finished;
  }
  EXPECT_TRUE(any_finished);
}

}  // namespace
}  // namespace sheaf::test::save_outcome_test
