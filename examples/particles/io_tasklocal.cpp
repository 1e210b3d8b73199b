// Task-local restart files: every task writes one file through stdio, NAME.<task, six digits>.
//
// The simplest parallel way and the fastest per byte, but it creates one file per task.
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "restart.hpp"

namespace particles {
namespace {

class TaskLocalWay : public RestartWay {
 public:
  explicit TaskLocalWay(MPI_Comm world) {
    MPI_Comm_rank(world, &rank_);
    MPI_Comm_size(world, &tasks_);
  }

  std::string name() const override { return "tasklocal"; }
  std::string suffix() const override { return "task"; }
  std::string first_file() const override { return "task.000000"; }

  bool write(const std::string& path, const RestartHeader& header,
             const std::vector<Particle>& particles) override {
    std::FILE* file = std::fopen(own_file(path).c_str(), "wb");
    if (!file) return false;
    const bool ok =
        std::fwrite(&header, sizeof header, 1, file) == 1 &&
        std::fwrite(particles.data(), sizeof(Particle), particles.size(), file) == particles.size();
    return std::fclose(file) == 0 && ok;
  }

  bool read(const std::string& path, RestartPart& part) override {
    std::error_code failed;
    const auto size = std::filesystem::file_size(own_file(path), failed);
    std::FILE* file = failed ? nullptr : std::fopen(own_file(path).c_str(), "rb");
    if (!file) return false;
    RestartHeader& h = part.header;
    bool ok = std::fread(&h, sizeof h, 1, file) == 1 && h.is_valid() && h.tasks == tasks_ &&
              size == sizeof h + static_cast<std::uint64_t>(h.count) * sizeof(Particle);
    if (ok) {
      part.particles.resize(static_cast<std::size_t>(h.count));
      ok = std::fread(part.particles.data(), sizeof(Particle), part.particles.size(), file) ==
           part.particles.size();
    }
    std::fclose(file);
    return ok;
  }

 private:
  std::string own_file(const std::string& path) const {
    char number[16];
    std::snprintf(number, sizeof number, ".%06d", rank_);
    return path + number;
  }

  int rank_ = 0;
  int tasks_ = 0;
};

}  // namespace

std::unique_ptr<RestartWay> task_local_way(MPI_Comm world) { return std::make_unique<TaskLocalWay>(world); }

}  // namespace particles
