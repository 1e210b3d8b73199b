// Restart files: what every way of writing them has in common.
//
// Three ways store the same state:
// - single: one designated task collects the particles of all others and writes one file (what MP2C did
//   first)
// - tasklocal: every task writes a file of its own
// - multifile: every task writes its own logical file, all of them in few physical files (Sheaf)
//
// A checkpoint of step n is named DIR/restart.<n, six digits>.<suffix of the way>. Whether it is complete is
// decided by reading it: counts and digest in its headers must agree with the particles that follow.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "particle.hpp"

namespace particles {

// Precedes the particles of one task (ways tasklocal and multifile) or of all tasks (single). 80 bytes.
struct RestartHeader {
  char magic[8] = {'M', 'P', 'C', 'R', 'S', 'T', '0', '1'};
  std::int64_t step = 0;
  std::int64_t total = 0;  // particles of all tasks
  std::uint64_t seed = 0;
  std::int64_t tasks = 0;  // tasks that wrote the checkpoint
  std::int64_t count = 0;  // particles that follow
  Digest digest;           // of the particles that follow
  std::int64_t reserved[2] = {0, 0};

  bool is_valid() const;
};
static_assert(sizeof(RestartHeader) == 80);

// The part of a checkpoint one task holds. `header.count` belongs to `particles`; the headers' digests of all
// tasks together belong to the particles of all tasks.
struct RestartPart {
  RestartHeader header;
  std::vector<Particle> particles;
};

// Header for `particles` as the part of one task.
RestartHeader describe(const std::vector<Particle>& particles, std::int64_t step, std::int64_t total,
                       std::uint64_t seed, MPI_Comm world);

class RestartWay {
 public:
  virtual ~RestartWay() = default;
  virtual std::string name() const = 0;
  virtual std::string suffix() const = 0;      // last part of the checkpoint's name
  virtual std::string first_file() const = 0;  // suffix of the file whose presence announces a checkpoint

  // Collective; `path` is DIR/restart.NNNNNN.suffix. Returns on every task whether its own part went well;
  // the caller agrees. A failure leaves files behind that do not read as a complete checkpoint.
  virtual bool write(const std::string& path, const RestartHeader& header,
                     const std::vector<Particle>& particles) = 0;

  // Collective. Returns on every task whether its part is complete and undamaged. In the way "single" the
  // distribution over the tasks is by number, not by place.
  virtual bool read(const std::string& path, RestartPart& part) = 0;
};

std::unique_ptr<RestartWay> single_file_way(MPI_Comm world);
std::unique_ptr<RestartWay> task_local_way(MPI_Comm world);
// `files` physical files; 0 means one for each shared-memory node.
std::unique_ptr<RestartWay> multifile_way(MPI_Comm world, int files);

std::string checkpoint_path(const std::string& directory, std::int64_t step, const RestartWay& way);

// Number and bytes of the files of one checkpoint, on task 0; zero elsewhere.
struct Footprint {
  std::int64_t files = 0;
  std::int64_t bytes = 0;
};
Footprint footprint(const std::string& path, MPI_Comm world);

// Collective. Removes the files of one checkpoint, if there are any.
void remove_checkpoint(const std::string& path, MPI_Comm world);

// Collective. Steps of which `way` may have a checkpoint in `directory`, newest first.
std::vector<std::int64_t> checkpoint_steps(const std::string& directory, const RestartWay& way,
                                           MPI_Comm world);

// Collective; `read_ok` says whether this task's read went well. True, on all tasks alike, if the parts are
// undamaged, belong to the same step of the same run and are all its particles.
bool is_complete(bool read_ok, const RestartPart& part, MPI_Comm world);

}  // namespace particles
