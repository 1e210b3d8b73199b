// Writes, finds and reads back the checkpoints of a run in all the ways chosen, and measures them.
#pragma once

#include <mpi.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "options.hpp"
#include "report.hpp"
#include "restart.hpp"
#include "solvent.hpp"

namespace particles {

class Checkpointer {
 public:
  Checkpointer(MPI_Comm world, const Options& options);

  // The collective calls below throw std::runtime_error on all tasks alike.

  // Collective. Writes the state in every way, then removes the checkpoint that is too old to keep. Returns
  // seconds.
  double write(const Solvent& solvent);

  struct Found {
    RestartPart part;
    std::string path;
  };
  // Collective. Newest checkpoint that is complete; of the same step, a multifile before others. `skipped`
  // (task 0) names newer ones that are not complete. nullopt if there is none.
  std::optional<Found> newest(std::vector<std::string>& skipped);

  // Collective. Reads the checkpoint of the last write in every way and compares it with what was written.
  void read_back();

  const std::vector<WayTimes>& times() const { return times_; }

 private:
  bool read_timed(std::size_t way, const std::string& path, RestartPart& part);

  MPI_Comm world_;
  int rank_ = 0;
  std::string directory_;
  std::int64_t keep_, every_;
  std::vector<std::unique_ptr<RestartWay>> ways_;
  std::vector<WayTimes> times_;  // one for each way
  std::int64_t last_step_ = -1;
  Digest last_digest_;  // of this task's particles at that step
};

}  // namespace particles
