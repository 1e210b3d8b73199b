// Writes checkpoints in several ways at once; see checkpointer.hpp.
#include "checkpointer.hpp"

#include <algorithm>
#include <stdexcept>

#include "collective.hpp"

namespace particles {
namespace {

std::unique_ptr<RestartWay> way_named(const std::string& name, MPI_Comm world, int files) {
  if (name == "single") return single_file_way(world);
  if (name == "tasklocal") return task_local_way(world);
  return multifile_way(world, files);
}

std::int64_t data_bytes(const RestartHeader& h) {
  return h.total * static_cast<std::int64_t>(sizeof(Particle));
}

}  // namespace

Checkpointer::Checkpointer(MPI_Comm world, const Options& options)
    : world_(world), directory_(options.directory), keep_(options.keep), every_(options.checkpoint_every) {
  MPI_Comm_rank(world, &rank_);
  for (const std::string& name : options.ways) {
    ways_.push_back(way_named(name, world, options.files));
    times_.push_back({});
    times_.back().way = name;
  }
}

double Checkpointer::write(const Solvent& solvent) {
  const RestartHeader header =
      describe(solvent.particles(), solvent.step(), solvent.total(), solvent.seed(), world_);
  double all = 0;
  for (std::size_t w = 0; w < ways_.size(); ++w) {
    const std::string path = checkpoint_path(directory_, solvent.step(), *ways_[w]);
    bool ok = false;
    const double seconds = time_of(world_, [&] { ok = ways_[w]->write(path, header, solvent.particles()); });
    if (!agree(ok, world_)) throw std::runtime_error("cannot write the checkpoint " + path);
    times_[w].write_seconds += seconds;
    ++times_[w].writes;
    times_[w].files = footprint(path, world_);
    times_[w].bytes = data_bytes(header);
    all += seconds;
  }
  last_step_ = solvent.step();
  last_digest_ = header.digest;
  if (const std::int64_t old = last_step_ - keep_ * every_; keep_ > 0 && old > 0)
    for (const auto& way : ways_) remove_checkpoint(checkpoint_path(directory_, old, *way), world_);
  return all;
}

bool Checkpointer::read_timed(std::size_t way, const std::string& path, RestartPart& part) {
  bool ok = false;
  const double seconds = time_of(world_, [&] { ok = ways_[way]->read(path, part); });
  if (!is_complete(ok, part, world_)) return false;
  times_[way].read_seconds += seconds;
  ++times_[way].reads;
  times_[way].bytes = data_bytes(part.header);
  times_[way].files = footprint(path, world_);
  return true;
}

std::optional<Checkpointer::Found> Checkpointer::newest(std::vector<std::string>& skipped) {
  struct Candidate {
    std::int64_t step;
    std::size_t way;
  };
  std::vector<Candidate> candidates;
  for (std::size_t w = 0; w < ways_.size(); ++w)
    for (std::int64_t step : checkpoint_steps(directory_, *ways_[w], world_)) candidates.push_back({step, w});
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return a.step != b.step ? a.step > b.step : a.way > b.way;
  });
  for (const Candidate& c : candidates) {
    Found found;
    found.path = checkpoint_path(directory_, c.step, *ways_[c.way]);
    if (read_timed(c.way, found.path, found.part) && found.part.header.step == c.step) return found;
    skipped.push_back(found.path);
  }
  return std::nullopt;
}

void Checkpointer::read_back() {
  if (last_step_ < 0) return;
  const Digest written = combined(last_digest_, world_);
  for (std::size_t w = 0; w < ways_.size(); ++w) {
    const std::string path = checkpoint_path(directory_, last_step_, *ways_[w]);
    RestartPart part;
    if (!read_timed(w, path, part)) throw std::runtime_error("cannot read back " + path);
    if (combined(part.header.digest, world_) != written)
      throw std::runtime_error("other particles than written are in " + path);
  }
}

}  // namespace particles
