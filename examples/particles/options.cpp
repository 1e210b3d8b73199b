// Parses the command line with getopt_long.
#include "options.hpp"

#include <getopt.h>

#include <limits>
#include <stdexcept>
#include <string_view>

namespace particles {

const char* const usage =
    "usage: particles [options]          (started by mpirun)\n"
    "Multi-particle collision dynamics of a solvent, with restart files written in three ways.\n"
    "\n"
    "  --particles N           number of particles (1000000)\n"
    "  --steps N               run until this step (20)\n"
    "  --seed N                seed of the random numbers (1)\n"
    "  --checkpoint-every K    steps between two checkpoints; 0: none (5)\n"
    "  --keep N                newest checkpoints to keep; 0: all (2)\n"
    "  --io WAY                single | tasklocal | multifile | all (multifile)\n"
    "  --files F               physical files of a multifile; 0: one for each node (1)\n"
    "  --dir DIR               where the restart files are (.)\n"
    "  --restart               go on from the newest complete checkpoint; it decides particles and seed\n"
    "  --read-back             after the run read the last checkpoint in every way, and check it\n"
    "  --die-at-step S         all tasks kill themselves after step S, before any checkpoint of that step\n"
    "  --json PATH             append the measurements as lines of JSON\n"
    "  --progress              show a progress line even if stderr is no terminal, as mpirun makes it look\n"
    "  --quiet                 print the final state only\n"
    "  --help                  this text\n";

namespace {

std::int64_t number(const char* option, std::string_view text, std::int64_t least,
                    std::int64_t most = std::numeric_limits<std::int64_t>::max()) {
  std::size_t used = 0;
  std::int64_t value = 0;
  try {
    value = std::stoll(std::string(text), &used);
  } catch (const std::logic_error&) {
    used = 0;
  }
  if (used == 0 || used != text.size() || value < least || value > most)
    throw std::runtime_error("--" + std::string(option) + ": \"" + std::string(text) +
                             "\" is not a number from " + std::to_string(least) + " to " +
                             std::to_string(most));
  return value;
}

std::vector<std::string> ways_named(const std::string& text) {
  if (text == "all") return {"single", "tasklocal", "multifile"};
  if (text == "single" || text == "tasklocal" || text == "multifile") return {text};
  throw std::runtime_error("--io: \"" + text + "\" is none of single, tasklocal, multifile, all");
}

}  // namespace

Options parse_options(int argc, char** argv) {
  static const option known[] = {{"particles", required_argument, nullptr, 'p'},
                                 {"steps", required_argument, nullptr, 's'},
                                 {"seed", required_argument, nullptr, 'r'},
                                 {"checkpoint-every", required_argument, nullptr, 'k'},
                                 {"keep", required_argument, nullptr, 'K'},
                                 {"io", required_argument, nullptr, 'i'},
                                 {"files", required_argument, nullptr, 'f'},
                                 {"dir", required_argument, nullptr, 'd'},
                                 {"restart", no_argument, nullptr, 'R'},
                                 {"read-back", no_argument, nullptr, 'b'},
                                 {"die-at-step", required_argument, nullptr, 'D'},
                                 {"json", required_argument, nullptr, 'j'},
                                 {"progress", no_argument, nullptr, 'P'},
                                 {"quiet", no_argument, nullptr, 'q'},
                                 {"help", no_argument, nullptr, 'h'},
                                 {nullptr, 0, nullptr, 0}};
  constexpr std::int64_t max_steps = 999'999;  // six digits in the names of checkpoints
  constexpr std::int64_t max_particles = std::int64_t{1} << 40;
  Options o;
  opterr = 0;
  int index = 0;
  for (int c = 0; (c = getopt_long(argc, argv, "h", known, &index)) != -1;) {
    const char* name = known[index].name;
    switch (c) {
      case 'p':
        o.particles = number(name, optarg, 2, max_particles);
        break;
      case 's':
        o.steps = number(name, optarg, 0, max_steps);
        break;
      case 'r':
        o.seed = static_cast<std::uint64_t>(number(name, optarg, 0));
        break;
      case 'k':
        o.checkpoint_every = number(name, optarg, 0, max_steps);
        break;
      case 'K':
        o.keep = number(name, optarg, 0, max_steps);
        break;
      case 'i':
        o.ways = ways_named(optarg);
        break;
      case 'f':
        o.files = static_cast<int>(number(name, optarg, 0, std::numeric_limits<int>::max()));
        break;
      case 'd':
        o.directory = optarg;
        break;
      case 'R':
        o.restart = true;
        break;
      case 'b':
        o.read_back = true;
        break;
      case 'D':
        o.die_at_step = number(name, optarg, 0, max_steps);
        break;
      case 'j':
        o.json = optarg;
        break;
      case 'P':
        o.progress = true;
        break;
      case 'q':
        o.quiet = true;
        break;
      case 'h':
        o.help = true;
        break;
      default:
        throw std::runtime_error(std::string("unknown option or missing value: ") + argv[optind - 1]);
    }
  }
  if (optind < argc) throw std::runtime_error(std::string("unexpected argument: ") + argv[optind]);
  return o;
}

}  // namespace particles
