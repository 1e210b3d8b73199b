// Restart files: the common parts of all ways of writing them.
//
// Three ways store the same state:
// - single: one designated task gathers the particles of all tasks and writes one file (the first way of
//   MP2C)
// - tasklocal: every task writes its own file
// - multifile: every task writes its own logical file; few physical files contain all logical files (Sheaf)
//
// A checkpoint of step n is named DIR/restart.<n, six digits>.<suffix of the way>. It is complete if it can
// be read and the counts and digest in its headers agree with the particles that follow.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "particle.hpp"

namespace particles {

// Header that precedes the particles of one task (ways tasklocal and multifile) or of all tasks (single). 80
// bytes.
struct RestartHeader {
  char magic[8] = {'M', 'P', 'C', 'R', 'S', 'T', '0', '1'};
  std::int64_t step = 0;
  std::int64_t total = 0;  // particles of all tasks
  std::uint64_t seed = 0;
  std::int64_t tasks = 0;  // tasks that wrote the checkpoint
  std::int64_t count = 0;  // particles that follow
  Digest digest;           // digest of the particles that follow
  std::int64_t reserved[2] = {0, 0};

  bool is_valid() const;
};
static_assert(sizeof(RestartHeader) == 80);

// The part of a checkpoint that one task holds. `header.count` is the number of `particles`. The digests in
// the headers of all tasks combine to the digest of all particles.
struct RestartPart {
  RestartHeader header;
  std::vector<Particle> particles;
};

// Returns the header for `particles` as the part of one task.
RestartHeader describe(const std::vector<Particle>& particles, std::int64_t step, std::int64_t total,
                       std::uint64_t seed, MPI_Comm world);

class RestartWay {
 public:
  virtual ~RestartWay() = default;
  virtual std::string name() const = 0;
  virtual std::string suffix() const = 0;      // last part of the name of a checkpoint
  virtual std::string first_file() const = 0;  // suffix of the file that indicates a checkpoint

  // Collective. Writes a checkpoint; `path` is DIR/restart.NNNNNN.suffix. Returns on every task whether its
  // own part was written, so the caller has to agree on the outcome. After a failure, the remaining files do
  // not read as a complete checkpoint.
  virtual bool write(const std::string& path, const RestartHeader& header,
                     const std::vector<Particle>& particles) = 0;

  // Collective. Reads a checkpoint. Returns on every task whether its part is complete and undamaged. The way
  // "single" distributes the particles over the tasks by number, not by location.
  virtual bool read(const std::string& path, RestartPart& part) = 0;
};

std::unique_ptr<RestartWay> single_file_way(MPI_Comm world);
std::unique_ptr<RestartWay> task_local_way(MPI_Comm world);
// Returns the way `multifile`. `files` is the number of physical files; 0 means one per host.
std::unique_ptr<RestartWay> multifile_way(MPI_Comm world, int files);

std::string checkpoint_path(const std::string& directory, std::int64_t step, const RestartWay& way);

// Number and bytes of the files of one checkpoint, on task 0; zero on all other tasks.
struct Footprint {
  std::int64_t files = 0;
  std::int64_t bytes = 0;
};
Footprint footprint(const std::string& path, MPI_Comm world);

// Collective. Removes the files of one checkpoint, if there are any.
void remove_checkpoint(const std::string& path, MPI_Comm world);

// Collective. Returns the steps for which `way` may have a checkpoint in `directory`, newest first.
std::vector<std::int64_t> checkpoint_steps(const std::string& directory, const RestartWay& way,
                                           MPI_Comm world);

// Collective. Returns true, on all tasks alike, if the parts are undamaged, belong to the same step of the
// same run, and contain all its particles. `read_ok` tells whether this task's read succeeded.
bool is_complete(bool read_ok, const RestartPart& part, MPI_Comm world);

}  // namespace particles
