// Programs that die after any number of changes to the files: what every task had flushed, and chunks it had completed,
// is found by whoever opens the files, and a repair keeps exactly that.
#include <gtest/gtest.h>

#include "multifile/repair.hpp"
#include "support/crash_points.hpp"

namespace sheaf::test {
namespace {

using Record = void (*)(RecordingStore&, const Program&, Reported&, const std::string&, uint64_t);

void check_state(MemoryStore& state, const Program& p, const Reported& reported, size_t prefix) {
  WorkProgress quiet;
  const auto unreadable = attempt([&] { SerialReader(state, "a", mode_of("r")); });
  if (unreadable) {
    require(prefix < reported.opened, std::string("cannot be opened: ") + unreadable->what());
    attempt([&] { repair(state, "a", {}, quiet); });  // says so, and harms nothing
    return;
  }
  const std::vector<int64_t> found = check_recovered(state, p, reported, prefix);
  RepairRequest copy;
  copy.copy_to = "copy";
  repair(state, "a", copy, quiet);
  repair(state, "a", {}, quiet);
  for (const char* const name : {"a", "copy"}) {
    SerialReader repaired(state, name, mode_of("r"));
    require(!repaired.facts().unclosed, "the repaired file is not complete");
    for (int64_t t = 0; t < p.ntasks(); ++t) {
      repaired.select(t);
      const int64_t length = found[static_cast<size_t>(t)];
      std::vector<std::byte> bytes(static_cast<size_t>(length) + 100);
      bytes.resize(repaired.stream().read(bytes));
      require(bytes == content(t, 0, length), "the repair has changed task " + std::to_string(t));
    }
  }
  require(!state.status("a.journal").exists, "the repair leaves the journal behind");
}

void kill_everywhere(Record record, int nfiles, uint64_t seeds) {
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    const Program p = crash_program(seed, nfiles);
    MemoryStore memory;
    RecordingStore tape(memory);
    Reported reported(p.ntasks());
    record(tape, p, reported, "w", seed);
    for (size_t prefix = 0; prefix <= tape.length(); ++prefix) {
      MemoryStore state;
      tape.replay(prefix, state);
      try {
        check_state(state, p, reported, prefix);
      } catch (const std::exception& e) {
        FAIL() << e.what() << "\nseed " << seed << ", after " << prefix << " of " << tape.length() << " changes, the last: "
               << (prefix > 0 ? tape.describe(prefix - 1) : "none") << "\n" << p.describe();
      }
    }
  }
}

TEST(CrashPoints, OfSerialPrograms) { kill_everywhere(record_serially, 1, 60); }
TEST(CrashPoints, OfParallelPrograms) { kill_everywhere(record_in_parallel, 1, 40); }
TEST(CrashPoints, OfSets) { kill_everywhere(record_in_parallel, 3, 40); }

// Of what was not synced any part may be lost. What was flushed, or closed, was synced.
void lose_power_everywhere(Record record, int nfiles, uint64_t seeds) {
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    const Program p = crash_program(seed, nfiles);
    MemoryStore memory;
    RecordingStore tape(memory);
    Reported reported(p.ntasks());
    record(tape, p, reported, "w,durable", seed);
    for (size_t prefix = 0; prefix <= tape.length(); ++prefix)
      for (uint64_t loss = 0; loss < 6; ++loss) {
        MemoryStore state;
        tape.replay_losing_unsynced(prefix, 1000 * seed + 10 * prefix + loss, state);
        bool anything = prefix >= reported.closed;
        for (int64_t t = 0; t < p.ntasks(); ++t) anything |= reported.least(t, prefix) > 0;
        try {
          if (attempt([&] { SerialReader(state, "a", mode_of("r")); })) {
            require(!anything, "what was flushed cannot be opened");
            continue;
          }
          // Bytes of the name may be back that were never removed durably: only the contents are compared.
          check_recovered(state, p, reported, prefix);
        } catch (const std::exception& e) {
          FAIL() << e.what() << "\nseed " << seed << ", loss " << loss << ", after " << prefix << " of " << tape.length()
                 << " changes, the last: " << (prefix > 0 ? tape.describe(prefix - 1) : "none") << "\n" << p.describe();
        }
      }
  }
}

TEST(LossOfPower, InSerialDurablePrograms) { lose_power_everywhere(record_serially, 1, 40); }
TEST(LossOfPower, InParallelDurablePrograms) { lose_power_everywhere(record_in_parallel, 1, 20); }
TEST(LossOfPower, InDurableSets) { lose_power_everywhere(record_in_parallel, 3, 20); }

// A repair that dies can be started again.
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
    repair(repairing, "a", {}, quiet);
    for (size_t prefix = 0; prefix <= repairing.length(); ++prefix) {
      MemoryStore state;
      repairing.replay(prefix, state);
      for (int tries = 0; tries < 2; ++tries) {
        SerialReader reader(state, "a", mode_of("r"));
        for (int64_t t = 0; t < p.ntasks(); ++t) {
          reader.select(t);
          std::vector<std::byte> bytes(static_cast<size_t>(expected[static_cast<size_t>(t)]) + 100);
          bytes.resize(reader.stream().read(bytes));
          ASSERT_EQ(bytes, content(t, 0, expected[static_cast<size_t>(t)])) << "seed " << seed << ", prefix " << prefix;
        }
        repair(state, "a", {}, quiet);
      }
    }
  }
}

}  // namespace
}  // namespace sheaf::test
