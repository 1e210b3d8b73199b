// Programs that die after any number of changes to the files. Readers must find all flushed data and
// completed chunks of every task, and a repair must keep exactly these.
#include <gtest/gtest.h>

#include "multifile/recover/repair.hpp"
#include "support/crash_points.hpp"

namespace sheaf::test::crash_points_test {

using namespace multifile;

namespace {

using Record = void (*)(RecordingStore&, const Program&, Reported&, const std::string&, uint64_t);

// Requires that a repair keeps the data that a reader finds. If the writer recorded no data of any task in a
// file, the repair may add data that it finds in the file (`guessed`).
void require_kept(Store& state, const std::string& name, int64_t task, int64_t length, bool guessed) {
  Reader repaired(state, name, mode_of("r"));
  repaired.select(task);
  std::vector<std::byte> bytes(static_cast<size_t>(length) + (guessed ? 0 : 100));
  bytes.resize(repaired.stream().read(bytes));
  require(bytes == content(task, 0, length), "the repair has changed task " + std::to_string(task) + ", " +
                                                 std::to_string(bytes.size()) + " of " +
                                                 std::to_string(length) + " bytes");
}

bool guessed(const RepairReport& report) {
  return std::ranges::any_of(report.files,
                             [](const RepairedFile& f) { return f.source == RepairSource::holes; });
}

void check_state(MemoryStore& state, const Program& p, const Reported& reported, size_t prefix) {
  WorkProgress quiet;
  const auto unreadable = attempt([&] { Reader(state, "a", mode_of("r")); });
  if (unreadable) {
    require(prefix < reported.opened, std::string("cannot be opened: ") + unreadable->what());
    attempt([&] { repair(state, "a", {}, quiet); });  // fails with an error and does no harm
    return;
  }
  const std::vector<int64_t> found = check_recovered(state, p, reported, prefix);
  RepairRequest copy;
  copy.copy_to = "copy";
  repair(state, "a", copy, quiet);
  const bool by_holes = guessed(repair(state, "a", {}, quiet));
  for (const char* const name : {"a", "copy"}) {
    require(!Reader(state, name, mode_of("r")).facts().unclosed, "the repaired file is not complete");
    for (int64_t t = 0; t < p.ntasks(); ++t)
      require_kept(state, name, t, found[static_cast<size_t>(t)], by_holes);
  }
  require(!state.status("a.journal").exists, "the repair leaves the journal behind");
}

void kill_everywhere(Record record, int nfiles, uint64_t seeds, const std::string& words = "w",
                     Program (*program)(uint64_t, int) = crash_program) {
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    const Program p = program(seed, nfiles);
    MemoryStore memory;
    RecordingStore tape(memory);
    Reported reported(p.ntasks());
    record(tape, p, reported, words, seed);
    for (size_t prefix = 0; prefix <= tape.length(); ++prefix) {
      MemoryStore state;
      tape.replay(prefix, state);
      try {
        check_state(state, p, reported, prefix);
      } catch (const std::exception& e) {
        FAIL() << e.what() << "\nseed " << seed << ", after " << prefix << " of " << tape.length()
               << " changes, the last: " << (prefix > 0 ? tape.describe(prefix - 1) : "none") << "\n"
               << p.describe();
      }
    }
  }
}

TEST(CrashPoints, OfSerialPrograms) { kill_everywhere(record_serially, 1, 60); }
TEST(CrashPoints, OfParallelPrograms) { kill_everywhere(record_in_parallel, 1, 40); }
TEST(CrashPoints, OfSets) { kill_everywhere(record_in_parallel, 3, 40); }
TEST(CrashPoints, OfCollectivePrograms) { kill_everywhere(record_collectively, 1, 30); }
TEST(CrashPoints, OfCollectiveSets) { kill_everywhere(record_collectively, 2, 20); }
TEST(CrashPoints, OfMappedPrograms) { kill_everywhere(record_mapped, 1, 30); }
TEST(CrashPoints, OfMappedSets) { kill_everywhere(record_mapped, 3, 20); }

TEST(CrashPoints, OfCollectiveRounds) {
  kill_everywhere(record_collectively, 1, 12, "w", large_crash_program);
}
TEST(CrashPoints, OfCollectiveRoundsInSets) {
  kill_everywhere(record_collectively, 2, 8, "w", large_crash_program);
}

// Frames end where chunks end, so compressed data is also recorded with every completed chunk.
const char* const compressed = "w,compress=lz4,frame=1k,compress_threads=0";
TEST(CrashPoints, OfCompressedSerialPrograms) { kill_everywhere(record_serially, 1, 40, compressed); }
TEST(CrashPoints, OfCompressedSets) { kill_everywhere(record_in_parallel, 2, 30, compressed); }
TEST(CrashPoints, OfCompressedMappedSets) { kill_everywhere(record_mapped, 3, 20, compressed); }
TEST(CrashPoints, OfCompressedCollectivePrograms) { kill_everywhere(record_collectively, 1, 20, compressed); }

TEST(CrashPoints, OfAppendingPrograms) { kill_everywhere(record_appending, 1, 40); }
TEST(CrashPoints, OfAppendingToSets) { kill_everywhere(record_appending, 3, 30); }
TEST(CrashPoints, OfAppendingToCompressedSets) { kill_everywhere(record_appending, 2, 20, compressed); }
TEST(CrashPoints, OfMergingPrograms) { kill_everywhere(record_merging, 1, 30); }
TEST(CrashPoints, OfRecords) { kill_everywhere(record_records, 1, 40); }
TEST(CrashPoints, OfCompressedRecords) { kill_everywhere(record_records, 1, 30, compressed); }
TEST(CrashPoints, OfSetsWithCopies) { kill_everywhere(record_collectively, 2, 20, "w,buddy=1"); }

// Replays every prefix with losses of unsynced changes. Flushed and closed data was synced, so it must
// survive.
void lose_power_everywhere(Record record, int nfiles, uint64_t seeds, const std::string& words = "w",
                           Program (*program)(uint64_t, int) = crash_program) {
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    const Program p = program(seed, nfiles);
    MemoryStore memory;
    RecordingStore tape(memory);
    Reported reported(p.ntasks());
    record(tape, p, reported, words + ",durable", seed);
    for (size_t prefix = 0; prefix <= tape.length(); ++prefix)
      for (uint64_t loss = 0; loss < 6; ++loss) {
        MemoryStore state;
        tape.replay_losing_unsynced(prefix, 1000 * seed + 10 * prefix + loss, state);
        bool anything = prefix >= reported.closed;
        for (int64_t t = 0; t < p.ntasks(); ++t) anything |= reported.min_length(t, prefix) > 0;
        try {
          if (const auto refused = attempt([&] { Reader(state, "a", mode_of("r")); })) {
            require(!anything, std::string("what was flushed cannot be opened: ") + refused->what());
            continue;
          }
          // Bytes of the old file may reappear if their removal was not durable, so only the contents are
          // compared.
          check_recovered(state, p, reported, prefix);
        } catch (const std::exception& e) {
          FAIL() << e.what() << "\nseed " << seed << ", loss " << loss << ", after " << prefix << " of "
                 << tape.length()
                 << " changes, the last: " << (prefix > 0 ? tape.describe(prefix - 1) : "none") << "\n"
                 << p.describe();
        }
      }
  }
}

TEST(LossOfPower, InSerialDurablePrograms) { lose_power_everywhere(record_serially, 1, 40); }
TEST(LossOfPower, InParallelDurablePrograms) { lose_power_everywhere(record_in_parallel, 1, 20); }
TEST(LossOfPower, InDurableSets) { lose_power_everywhere(record_in_parallel, 3, 20); }
TEST(LossOfPower, InDurableCollectivePrograms) { lose_power_everywhere(record_collectively, 1, 10); }
TEST(LossOfPower, InDurableCollectiveRounds) {
  lose_power_everywhere(record_collectively, 1, 10, "w", large_crash_program);
}
TEST(LossOfPower, InDurableMappedSets) { lose_power_everywhere(record_mapped, 3, 10); }

TEST(LossOfPower, InDurableAppending) { lose_power_everywhere(record_appending, 1, 20); }
TEST(LossOfPower, InDurableAppendingToSets) { lose_power_everywhere(record_appending, 3, 15); }
TEST(LossOfPower, InDurableMerging) { lose_power_everywhere(record_merging, 1, 20); }
TEST(LossOfPower, InDurableRecords) { lose_power_everywhere(record_records, 1, 20); }
TEST(LossOfPower, InDurableCompressedSets) { lose_power_everywhere(record_in_parallel, 2, 20, compressed); }

// If a repair dies, a second repair must succeed.
TEST(CrashPoints, OfRepairs) {
  for (uint64_t seed = 1; seed <= 15; ++seed) {
    const Program p = crash_program(seed, 2);
    MemoryStore memory;
    RecordingStore tape(memory);
    Reported reported(p.ntasks());
    record_in_parallel(tape, p, reported, "w", seed);
    MemoryStore unclosed;
    tape.replay(reported.closing, unclosed);
    const std::vector<int64_t> expected = check_recovered(unclosed, p, reported, reported.closing);
    RecordingStore repairing(unclosed);
    WorkProgress quiet;
    const bool by_holes = guessed(repair(repairing, "a", {}, quiet));
    for (size_t prefix = 0; prefix <= repairing.length(); ++prefix) {
      MemoryStore state;
      repairing.replay(prefix, state);
      for (int tries = 0; tries < 2; ++tries) {
        SCOPED_TRACE("seed " + std::to_string(seed) + ", prefix " + std::to_string(prefix));
        for (int64_t t = 0; t < p.ntasks(); ++t)
          ASSERT_NO_THROW(require_kept(state, "a", t, expected[static_cast<size_t>(t)], by_holes));
        repair(state, "a", {}, quiet);
      }
    }
  }
}

}  // namespace
}  // namespace sheaf::test::crash_points_test
