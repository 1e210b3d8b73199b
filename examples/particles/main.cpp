// A particle simulation that writes restart files, in the role of MP2C in the SC09 paper (section 5.1).
//
// Runs a solvent (solvent.hpp) over MPI and writes checkpoints in one or several ways (restart.hpp). It can
// be killed at any time and resumes from the newest complete checkpoint to the same final state, bit for bit.
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "checkpointer.hpp"
#include "collective.hpp"
#include "options.hpp"
#include "report.hpp"
#include "solvent.hpp"

namespace particles {
namespace {

// Relative tolerance for conserved quantities. Rounding errors are many orders of magnitude smaller, errors
// in the physics larger.
constexpr double conserved_to = 1e-10;

std::string hex(const Digest& d) {
  char text[40];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(d.sum),
                static_cast<unsigned long long>(d.xor_));
  return text;
}

class Run {
 public:
  Run(MPI_Comm world, const Options& options)
      : world_(world), options_(options), checkpoints_(world, options) {
    MPI_Comm_rank(world, &rank_);
    MPI_Comm_size(world, &tasks_);
  }

  void go() {
    std::optional<Checkpointer::Found> found;
    if (options_.restart) found = find_restart();
    const std::int64_t total = found ? found->part.header.total : options_.particles;
    const std::uint64_t seed = found ? found->part.header.seed : options_.seed;

    Domain domain(world_, box_for(total));
    Solvent solvent(world_, domain, total, seed);
    if (found)
      solvent.adopt(std::move(found->part.particles), found->part.header.step);
    else
      solvent.create();
    introduce(domain, total);

    const Conserved before = solvent.conserved();
    if (before.particles != total) throw std::runtime_error("particles are missing at the start");
    const double seconds_per_step = run_steps(solvent);
    if (options_.read_back) checkpoints_.read_back();
    conclude(solvent, before, seconds_per_step);
  }

 private:
  bool talks() const { return rank_ == 0 && !options_.quiet; }

  std::optional<Checkpointer::Found> find_restart() {
    std::vector<std::string> skipped;
    auto found = checkpoints_.newest(skipped);
    if (talks())
      for (const std::string& path : skipped)
        std::printf("restart: %s is not complete, skipped\n", path.c_str());
    if (!found) throw std::runtime_error("no complete checkpoint in " + options_.directory);
    if (talks())
      std::printf("restart: step %lld from %s\n", static_cast<long long>(found->part.header.step),
                  found->path.c_str());
    return found;
  }

  void introduce(const Domain& domain, std::int64_t total) const {
    if (!talks()) return;
    const Cells& box = domain.box();
    const Cells& tasks = domain.tasks();
    std::printf("%s particles in %d x %d x %d collision cells, %d tasks (%d x %d x %d)\n",
                grouped(total).c_str(), box[0], box[1], box[2], tasks_, tasks[0], tasks[1], tasks[2]);
    std::fflush(stdout);
  }

  // Returns the mean time of a step.
  double run_steps(Solvent& solvent) {
    Progress progress(talks(), options_.progress, options_.steps, solvent.total());
    const std::int64_t first = solvent.step();
    double seconds = 0;
    while (solvent.step() < options_.steps) {
      const double last = time_of(world_, [&solvent] { solvent.advance(); });
      seconds += last;
      progress.step_done(solvent.step(), last);
      if (solvent.step() == options_.die_at_step) die(progress);
      if (options_.checkpoint_every > 0 && solvent.step() % options_.checkpoint_every == 0) {
        const double writing = checkpoints_.write(solvent);
        progress.checkpoint_done(solvent.step(), writing);
      }
    }
    progress.finish();
    return seconds / static_cast<double>(std::max<std::int64_t>(1, solvent.step() - first));
  }

  // Imitates a crash of the host: calls no destructor, no flush and no MPI_Finalize.
  [[noreturn]] void die(Progress& progress) {
    progress.finish();
    if (rank_ == 0) {
      std::printf("step %6lld   all tasks kill themselves\n", static_cast<long long>(options_.die_at_step));
      std::fflush(stdout);
    }
    MPI_Barrier(world_);
    std::raise(SIGKILL);
    std::abort();
  }

  void conclude(const Solvent& solvent, const Conserved& before, double seconds_per_step) {
    const Conserved after = solvent.conserved();
    const double scale = std::sqrt(2 * before.kinetic_energy * static_cast<double>(before.particles));
    double momentum_change = 0;
    for (int d = 0; d < 3; ++d)
      momentum_change = std::max(momentum_change, std::abs(after.momentum[d] - before.momentum[d]) / scale);
    const double energy_change = std::abs(after.kinetic_energy / before.kinetic_energy - 1);
    const std::string state = hex(after.digest);
    if (talks()) {
      std::printf("%.3f s per step, %.0f ns per particle and step\n", seconds_per_step,
                  1e9 * seconds_per_step / static_cast<double>(after.particles));
      std::printf("relative change over the run: momentum %.1e, kinetic energy %.1e\n", momentum_change,
                  energy_change);
      print_table(checkpoints_.times());
    }
    if (rank_ == 0) {
      std::printf("state after step %lld: %s\n", static_cast<long long>(solvent.step()), state.c_str());
      if (!options_.json.empty())
        append_json(options_.json, checkpoints_.times(), solvent.step(), after.particles, seconds_per_step,
                    state);
    }
    if (after.particles != before.particles) throw std::runtime_error("particles were lost");
    if (!(momentum_change < conserved_to && energy_change < conserved_to))
      throw std::runtime_error("momentum or kinetic energy is not conserved");
  }

  MPI_Comm world_;
  const Options& options_;
  Checkpointer checkpoints_;
  int rank_ = 0;
  int tasks_ = 0;
};

int run(int argc, char** argv) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  try {
    const Options options = parse_options(argc, argv);
    if (options.help) {
      if (rank == 0) std::fputs(usage, stdout);
      return 0;
    }
    Run(MPI_COMM_WORLD, options).go();
    return 0;
  } catch (const std::runtime_error& e) {  // thrown on all tasks alike
    if (rank == 0) std::fprintf(stderr, "particles: %s\n", e.what());
    return 1;
  } catch (const std::exception& e) {  // on one task only, for example out of memory: others would hang
    std::fprintf(stderr, "particles: task %d: %s\n", rank, e.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
    return 1;
  }
}

}  // namespace
}  // namespace particles

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int status = particles::run(argc, argv);
  MPI_Finalize();
  return status;
}
