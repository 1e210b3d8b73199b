// Names, completeness and housekeeping of checkpoints; see restart.hpp.
#include "restart.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <system_error>

#include "collective.hpp"

namespace particles {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view stem = "restart.";

int rank_in(MPI_Comm world) {
  int rank = 0;
  MPI_Comm_rank(world, &rank);
  return rank;
}

// Calls `visit` for every file of a checkpoint: for `path` itself, and for a set also for names that continue
// `path` with a dot.
void for_each_file(const std::string& path, const std::function<void(const fs::path&)>& visit) {
  const fs::path whole(path);
  const std::string name = whole.filename().string();
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(whole.parent_path(), ignored)) {
    const std::string candidate = entry.path().filename().string();
    if (candidate == name || candidate.starts_with(name + ".")) visit(entry.path());
  }
}

}  // namespace

bool RestartHeader::is_valid() const {
  return std::memcmp(magic, RestartHeader{}.magic, sizeof magic) == 0 && step >= 0 && tasks > 0 &&
         count >= 0 && count <= total;
}

RestartHeader describe(const std::vector<Particle>& particles, std::int64_t step, std::int64_t total,
                       std::uint64_t seed, MPI_Comm world) {
  int tasks = 0;
  MPI_Comm_size(world, &tasks);
  RestartHeader h;
  h.step = step;
  h.total = total;
  h.seed = seed;
  h.tasks = tasks;
  h.count = static_cast<std::int64_t>(particles.size());
  h.digest = digest_of(particles);
  return h;
}

std::string checkpoint_path(const std::string& directory, std::int64_t step, const RestartWay& way) {
  char number[32];
  std::snprintf(number, sizeof number, "%06lld", static_cast<long long>(step));
  return directory + "/" + std::string(stem) + number + "." + way.suffix();
}

Footprint footprint(const std::string& path, MPI_Comm world) {
  Footprint f;
  if (rank_in(world) != 0) return f;
  for_each_file(path, [&f](const fs::path& file) {
    std::error_code failed;
    const auto size = fs::file_size(file, failed);
    ++f.files;
    if (!failed) f.bytes += static_cast<std::int64_t>(size);
  });
  return f;
}

void remove_checkpoint(const std::string& path, MPI_Comm world) {
  if (rank_in(world) == 0) {
    std::vector<fs::path> doomed;
    for_each_file(path, [&doomed](const fs::path& file) { doomed.push_back(file); });
    std::error_code ignored;
    for (const fs::path& file : doomed) fs::remove(file, ignored);
  }
  MPI_Barrier(world);
}

std::vector<std::int64_t> checkpoint_steps(const std::string& directory, const RestartWay& way,
                                           MPI_Comm world) {
  std::vector<std::int64_t> steps;
  if (rank_in(world) == 0) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(directory, ignored)) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with(stem)) continue;
      const std::size_t digits = name.find_first_not_of("0123456789", stem.size());
      if (digits == std::string::npos || digits == stem.size() || digits - stem.size() > 18) continue;
      if (name[digits] == '.' && name.substr(digits + 1) == way.first_file())
        steps.push_back(std::stoll(name.substr(stem.size())));
    }
    std::sort(steps.rbegin(), steps.rend());
  }
  auto count = static_cast<int>(steps.size());
  MPI_Bcast(&count, 1, MPI_INT, 0, world);
  steps.resize(static_cast<std::size_t>(count));
  MPI_Bcast(steps.data(), count, MPI_INT64_T, 0, world);
  return steps;
}

bool is_complete(bool read_ok, const RestartPart& part, MPI_Comm world) {
  const RestartHeader& h = part.header;
  if (!agree(read_ok && h.is_valid() && h.count == static_cast<std::int64_t>(part.particles.size()), world))
    return false;

  std::int64_t first[3] = {h.step, h.total, static_cast<std::int64_t>(h.seed)};
  MPI_Bcast(first, 3, MPI_INT64_T, 0, world);
  const bool same =
      first[0] == h.step && first[1] == h.total && first[2] == static_cast<std::int64_t>(h.seed);
  std::int64_t everywhere = h.count;
  MPI_Allreduce(MPI_IN_PLACE, &everywhere, 1, MPI_INT64_T, MPI_SUM, world);
  const bool undamaged = combined(h.digest, world) == combined(digest_of(part.particles), world);
  return agree(same && undamaged && everywhere == h.total, world);
}

}  // namespace particles
