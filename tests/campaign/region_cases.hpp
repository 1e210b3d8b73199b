// region_cases: runs cases of the campaign in which MPI processes write one file at offsets. Each case runs
// first undisturbed and then with a failure. Each run has its own ledgers (region_ledger.hpp).
#pragma once

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include "campaign/bystander.hpp"
#include "campaign/process_injection.hpp"
#include "campaign/region_ledger.hpp"

namespace sheaf::test::campaign {

struct RegionCase {
  RegionFacts facts;
  int64_t old = 0;  // bytes in the file before the program starts
  // Writes and closes the file. Returns whether the close succeeded. Collective.
  std::function<bool(const std::string& path, const RegionLedger& ledger)> body;
};

// Draws the failure of a case. Draws no second job, because MPI-IO and SFIO allow a second job to write the
// file.
inline ProcessInjection draw_region_injection(uint64_t seed) {
  for (uint64_t draw = seed;; draw += 1'000'000'007) {
    const ProcessInjection drawn = draw_process_injection(draw);
    if (drawn.failure != ProcessFailure::second_job) return drawn;
  }
}

// While the object exists, this process is in a call of the library: its allocations may fail
// (failing_calls.h).
class InLibrary {
 public:
  InLibrary() { failing_.inside(true); }
  InLibrary(const InLibrary&) = delete;
  InLibrary& operator=(const InLibrary&) = delete;
  ~InLibrary() { failing_.inside(false); }

 private:
  const FailingCalls failing_;
};

class RegionRunner {
 public:
  RegionRunner(const FailingCalls& failing, const std::string& directory, const std::string& ledgers)
      : failing_(failing), directory_(directory), ledgers_(ledgers) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &tasks_);
  }

  int rank() const { return rank_; }
  int tasks() const { return tasks_; }
  // Runs the case undisturbed and then with its failure. Returns whether this program may run further cases.
  bool run(const RegionCase& one, uint64_t seed) const {
    const std::string name = "/" + std::to_string(seed);
    RegionCase undisturbed = one;
    undisturbed.facts.text += "; undisturbed";
    undisturbed.facts.must_succeed = true;
    const UndisturbedCounts counted =
        run_in(undisturbed, directory_ + name + "/undisturbed", ledgers_ + name + ".undisturbed",
               [&](const std::string& prefix) { failing_.count(prefix); });
    const ProcessInjection injection = draw_region_injection(seed);
    RegionCase disturbed = one;
    disturbed.facts.text += "; " + injection.describe();
    disturbed.facts.may_die = injection.may_die(tasks_);
    disturbed.facts.must_succeed = injection.must_succeed();
    run_in(disturbed, directory_ + name + "/disturbed", ledgers_ + name,
           [&](const std::string& prefix) { failing_.inject(injection, prefix, rank_, tasks_, counted); });
    return !disturbed.facts.may_die;
  }

 private:
  template <class Begin>
  UndisturbedCounts run_in(RegionCase one, const std::string& directory, const std::string& ledgers,
                           Begin&& begin) const {
    const std::string path = directory + "/multifile";
    one.facts.tasks = tasks_;
    const RegionLedger ledger(ledgers + "." + std::to_string(rank_), one.facts);
    if (rank_ == 0) {
      std::filesystem::create_directories(directory);
      make_bystander(directory);
      if (one.old > 0) {
        const std::string old(static_cast<size_t>(one.old), '\xee');
        std::ofstream(path) << old;
        ledger.note(RegionRecord::old, 0, old.data(), old.size());
      }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    begin(path);
    MPI_Barrier(MPI_COMM_WORLD);
    const bool closed = one.body(path, ledger);
    MPI_Barrier(MPI_COMM_WORLD);
    const UndisturbedCounts counted = failing_.stop();
    ledger.end(closed);
    return counted;
  }

  const FailingCalls& failing_;
  const std::string directory_, ledgers_;
  int rank_ = 0, tasks_ = 1;
};

// Runs make_case(seed, rank, tasks) for COUNT seeds, beginning with FIRST. Stops after a case in which a
// process may have died. `words` holds the arguments DIR LEDGERS FIRST COUNT: the directory of the files, the
// directory of the ledgers, and two numbers. The caller must have initialized MPI. Returns an exit code.
template <class MakeCase>
int run_region_cases(char** words, MakeCase&& make_case) {
  const FailingCalls failing;
  if (!failing.loaded()) {
    std::fputs("campaign: libfailing_calls.so is not in LD_PRELOAD\n", stderr);
    return 2;
  }
  const RegionRunner runner(failing, words[0], words[1]);
  const uint64_t first = std::strtoull(words[2], nullptr, 10);
  const uint64_t count = std::strtoull(words[3], nullptr, 10);
  for (uint64_t seed = first; seed < first + count; ++seed)
    if (!runner.run(make_case(seed, runner.rank(), runner.tasks()), seed)) break;
  return 0;
}

}  // namespace sheaf::test::campaign
