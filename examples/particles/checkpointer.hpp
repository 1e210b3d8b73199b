// Writes, finds and reads back the checkpoints of a run in all selected ways, and measures them.
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

  // The following collective calls throw std::runtime_error on all tasks alike.

  // Collective. Writes the state in every way, then removes the oldest checkpoint if there are more than
  // options allow. Returns the seconds of all writes.
  double write(const Solvent& solvent);

  struct Found {
    RestartPart part;
    std::string path;
  };
  // Collective. Returns the newest complete checkpoint, or nullopt if there is none. Of the same step,
  // prefers a multifile. On task 0, `skipped` receives the names of newer, incomplete checkpoints.
  std::optional<Found> newest(std::vector<std::string>& skipped);

  // Collective. Reads the checkpoint of the last write in every way and compares it with the data written.
  void read_back();

  const std::vector<WayTimes>& times() const { return times_; }

 private:
  bool read_timed(std::size_t way, const std::string& path, RestartPart& part);

  MPI_Comm world_;
  int rank_ = 0;
  std::string directory_;
  std::int64_t keep_, every_;
  std::vector<std::unique_ptr<RestartWay>> ways_;
  std::vector<WayTimes> times_;  // one per way
  std::int64_t last_step_ = -1;
  Digest last_digest_;  // digest of this task's particles at that step
};

}  // namespace particles
