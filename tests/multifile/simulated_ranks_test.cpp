// Simulates up to 10,000 ranks. In some runs ranks arrive late, a rank fails, or storage fails at random. An
// open or a close must succeed on all ranks or fail on all ranks. No rank may hang, and closed files must be
// correct. A seed determines a run: SHEAF_RANKS_SEED runs one seed, SHEAF_RANKS_RUNS sets the number of runs.
#include <gtest/gtest.h>

#include "support/programs.hpp"
#include "support/stores/faulty_store.hpp"
#include "support/variable.hpp"

namespace sheaf::test::simulated_ranks_test {

using namespace multifile;

namespace {

struct SimulatedRun {
  int ranks = 2;
  int32_t nfiles = 1;
  int64_t chunk = 0;
  int calls = 0;
  bool collective = false;
  std::string words;
  int failing_rank = -1;  // rank that passes an error to a call; -1: none
  int failing_call = 0;   // 0: the open; n: the n-th write
  FaultPlan fault;
  std::string describe() const {
    std::ostringstream out;
    out << ranks << " ranks, " << nfiles << " files, chunks of " << chunk << ", " << calls << " calls, '"
        << words << "', rank " << failing_rank << " fails in call " << failing_call << ", operation "
        << fault.fail_at << (fault.from_then_on ? " and later ones" : "") << " of the storage";
    return out.str();
  }
};

SimulatedRun run_of(uint64_t seed) {
  Random random(seed);
  SimulatedRun r;
  r.ranks = static_cast<int>(random.pick<int64_t>({2, 3, 5, 17, 64, 65, 300, 1025}));
  if (seed % 40 == 7) r.ranks = 10'000;
  r.nfiles = static_cast<int32_t>(1 + random.below(std::min(r.ranks, 9)));
  r.chunk = random.pick<int64_t>({1, 100, 4096, 5000});
  r.calls = static_cast<int>(1 + random.below(r.ranks > 1000 ? 3 : 8));
  r.collective = random.chance(2);
  r.words = std::string("w") +
            (r.collective ? random.pick({",collective", ",collective,collsize=4", ",collective,collsize=64"})
                          : "") +
            random.pick({"", "", ",durable", ",journal=off"});
  if (random.chance(3)) {
    r.failing_rank = static_cast<int>(random.below(r.ranks));
    r.failing_call = static_cast<int>(random.below(r.calls + 1));
  } else if (random.chance(2)) {
    // The range covers about four operations per rank. In large runs, the fault therefore also hits opens and
    // writes of single ranks.
    r.fault.fail_at = random.below(4 * int64_t{r.ranks} + 10);
    r.fault.from_then_on = random.chance(3);
    r.fault.half_first = random.chance(2);
    r.fault.errno_value = random.pick({EIO, ENOSPC});
  }
  return r;
}

int64_t bytes_of(const SimulatedRun& r, int rank, int call) {
  return (37 * rank + 911 * call) % (2 * r.chunk + 3);
}

// Delays a rank at random.
void delay(Random& random) {
  for (int64_t times = random.chance(4) ? random.below(20) : 0; times > 0; --times) yield();
}

// Checks that each open and each close succeeds on all ranks or fails on all ranks.
class RankOutcomes {
 public:
  explicit RankOutcomes(int ranks) : ranks_(ranks) {}
  void note(size_t step, bool failed) {
    if (steps_.size() <= step) steps_.resize(step + 1);
    ++steps_[step].seen;
    steps_[step].failed += failed;
  }
  void check() const {
    for (size_t i = 0; i < steps_.size(); ++i)
      require((steps_[i].failed == 0 || steps_[i].failed == steps_[i].seen) && steps_[i].seen == ranks_,
              "step " + std::to_string(i) + ": " + std::to_string(steps_[i].failed) + " of " +
                  std::to_string(steps_[i].seen) + " ranks have failed, of " + std::to_string(ranks_));
  }

 private:
  struct StepOutcome {
    int seen = 0, failed = 0;
  };
  int ranks_;
  std::vector<StepOutcome> steps_;
};

// Performs one rank's part of a run. Returns whether the close succeeded.
bool write(Store& store, const SimulatedRun& r, Comm& comm, Random& random, RankOutcomes& outcomes,
           std::vector<int64_t>& written) {
  const auto me = static_cast<size_t>(comm.rank());
  std::unique_ptr<Writer> writer;
  ParallelWriteRequest request;
  request.path = "a";
  request.nfiles = r.nfiles;
  request.fsblksize = 512;
  request.chunk_size = comm.rank() == r.failing_rank && r.failing_call == 0 ? -1 : r.chunk;
  const OpenMode mode = shared_mode_of(comm, r.words, 300);
  delay(random);
  const auto problem =
      attempt([&] { writer = std::make_unique<Writer>(store, comm.duplicate(), std::move(request), mode); });
  outcomes.note(0, problem.has_value());
  if (problem) return false;
  for (int call = 0; call < r.calls; ++call) {
    delay(random);
    const auto bytes = content(comm.rank(), written[me], bytes_of(r, comm.rank(), call));
    std::optional<Error> mine;
    if (comm.rank() == r.failing_rank && r.failing_call == call + 1)
      mine = Error(Code::invalid_argument, "of its own");
    const auto failed = attempt([&] {
      if (auto* const together = writer->collective()) return together->write(bytes, mine);
      if (mine) throw *mine;
      writer->stream().write(bytes);
    });
    if (!failed) written[me] += std::ssize(bytes);
    if (call % 3 == 1) attempt([&] { writer->commit(); });
    // After a failed call the rank makes the later calls, too, because a real program may do so.
  }
  delay(random);
  const auto closing = attempt([&] { writer->close(); });
  outcomes.note(1, closing.has_value());
  return !closing;
}

// Checks the stream that each rank reads back. With odd seeds, ranks read collectively.
void check_closed(Store& memory, const SimulatedRun& r, const std::vector<int64_t>& written, uint64_t seed) {
  TaskHandles store(memory);
  run_fibers(fibers(r.ranks, seed + 1), [&](Comm& comm) {
    const auto me = static_cast<size_t>(comm.rank());
    Reader reader(store, comm.duplicate(), "a", mode_of(seed % 2 ? "r,collective=16" : "r", 300));
    std::vector<std::byte> found(static_cast<size_t>(written[me]));
    require(reader.stream().available(1 << 30) == written[me], "rank " + std::to_string(me) + ": length");
    if (reader.collective()) {
      reader.collective()->read(found, std::nullopt);
    } else {
      reader.stream().read(found);
    }
    require(found == content(comm.rank(), 0, written[me]), "rank " + std::to_string(me) + ": bytes");
    reader.close();
  });
}

void simulate(uint64_t seed) {
  const SimulatedRun r = run_of(seed);
  MemoryStore memory;
  FaultyStore faulty(memory, r.fault);
  faulty.keep_log(false);
  TaskHandles store(faulty);
  RankOutcomes outcomes(r.ranks);
  std::vector<int64_t> written(static_cast<size_t>(r.ranks));
  bool closed = false;
  run_fibers(fibers(r.ranks, seed), [&](Comm& comm) {
    Random random(seed * 100'003 + static_cast<uint64_t>(comm.rank()));
    closed = write(store, r, comm, random, outcomes, written);
  });
  outcomes.check();
  require(store.open_files() == 0, "all files closed");
  if (closed) {
    check_closed(memory, r, written, seed);
  } else if (code_of([&] { Reader(memory, "a", mode_of("r")); }) == Code::ok) {
    Reader reader(memory, "a", mode_of("r"));
    for (int64_t t = 0; t < std::min<int64_t>(reader.ntasks(), 50); ++t) {
      reader.select(t);
      std::vector<std::byte> found(20'000);
      found.resize(reader.stream().read(found));
      require(found == content(t, 0, std::ssize(found)),
              "rank " + std::to_string(t) + ": wrong bytes of a file that was not closed");
    }
  }
}

TEST(SimulatedRanks, HaveOneOutcomeWhateverFails) {
  const uint64_t only = variable("SHEAF_RANKS_SEED", 0);
  const uint64_t last = only ? only : variable("SHEAF_RANKS_RUNS", 40);
  for (uint64_t seed = only ? only : 1; seed <= last; ++seed) {
    try {
      simulate(seed);
    } catch (const std::exception& e) {
      FAIL() << e.what() << "\nSHEAF_RANKS_SEED=" << seed << ": " << run_of(seed).describe();
    }
  }
}

}  // namespace
}  // namespace sheaf::test::simulated_ranks_test
