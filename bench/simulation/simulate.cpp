// simulate PROGRAM NAME=NUMBER...: runs a program of the papers' experiments on a modelled machine
// (simulation/programs.hpp, simulation/machine.hpp). Prints one JSON object: seconds of each phase, and
// counters. Only modelled time counts. With trace=1, prints the transfers of each task instead, in its order:
// ["write" or "read", offset, bytes]. Exit codes: 0, 1 if the library fails, 2 for an invalid command line.
#include <sys/prctl.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "simulation/programs.hpp"
#include "simulation/replay.hpp"

namespace {

using namespace sheaf::simulation;

void print(const RecordedProgram& noted, const ReplayOutcome& outcome) {
  std::printf("{\"seconds\": {");
  double before = 0;
  for (size_t i = 0; i < outcome.phases.size(); ++i) {
    if (i > 0)
      std::printf("%s\"%s\": %.9g", i > 1 ? ", " : "", noted.phases[i].c_str(), outcome.phases[i] - before);
    before = outcome.phases[i];
  }
  const ReplayCounts& c = outcome.counts;
  const std::pair<const char*, int64_t> counts[] = {{"creates", c.creates},
                                                    {"opens", c.opens},
                                                    {"opens_again", c.opens_again},
                                                    {"writes", c.writes},
                                                    {"reads", c.reads},
                                                    {"bytes_written", c.bytes_written},
                                                    {"bytes_read", c.bytes_read},
                                                    {"whole_blocks", c.whole_blocks},
                                                    {"partial_blocks", c.partial_blocks},
                                                    {"blocks_read", c.blocks_read},
                                                    {"revoked", c.revoked},
                                                    {"barriers", c.barriers}};
  std::printf("}, \"counts\": {");
  for (size_t i = 0; i < std::size(counts); ++i)
    std::printf("%s\"%s\": %lld", i > 0 ? ", " : "", counts[i].first,
                static_cast<long long>(counts[i].second));
  std::printf("}, \"end\": %.9g}\n", outcome.end);
}

void print_transfers(const SimulationTape& tape) {
  std::printf("[");
  for (int task = 0; task < tape.tasks(); ++task) {
    std::printf("%s[", task > 0 ? ",\n" : "");
    const char* separator = "";
    for (const SimulationStep& step : tape.of(task)) {
      const bool writes = step.kind == SimulationStepKind::write;
      if (!writes && step.kind != SimulationStepKind::read) continue;
      std::printf("%s[\"%s\", %lld, %lld]", separator, writes ? "write" : "read",
                  static_cast<long long>(step.offset), static_cast<long long>(step.length));
      separator = ", ";
    }
    std::printf("]");
  }
  std::printf("]\n");
}

int usage() {
  std::fprintf(stderr, "usage: simulate PROGRAM [NAME=NUMBER...] [trace=1]\nprograms:");
  for (const std::string_view name : program_names())
    std::fprintf(stderr, " %.*s", static_cast<int>(name.size()), name.data());
  std::fprintf(stderr, "\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return usage();
  // Limits memory to touched pages: every task reserves memory for windows, but uses little of it.
  prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
  Machine machine;
  ProgramOptions options;
  bool traces = false;
  for (int i = 2; i < argc; ++i) {
    if (std::string_view(argv[i]) == "trace=1") {
      traces = true;
      continue;
    }
    if (machine.set(argv[i]) || options.set(argv[i])) continue;
    std::fprintf(stderr, "simulate: '%s' is no number of a machine or a program, or out of its range\n",
                 argv[i]);
    return 2;
  }
  const auto names = program_names();
  if (std::find(names.begin(), names.end(), argv[1]) == names.end()) return usage();
  // The library spreads its aggregators over the clients, as over the I/O nodes of a real machine.
  if (machine.tasks_per_client > 1 && !machine.in_turn)
    setenv("SHEAF_TOPOLOGY", ("ion=" + std::to_string(machine.tasks_per_client)).c_str(), 0);
  try {
    const RecordedProgram noted = run_program(argv[1], options, machine);
    if (traces) {
      print_transfers(noted.tape);
    } else {
      print(noted, replay(noted.tape, machine));
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "simulate: %s\n", error.what());
    return 1;
  }
}
