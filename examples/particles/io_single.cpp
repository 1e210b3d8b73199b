// Single-file restart: one designated task (task 0) gathers the particles of all tasks and writes them to one
// file.
//
// Gathering and writing alternate in pieces of bounded size, so task 0 needs little memory for any number of
// tasks. All data pass through one task; MP2C had outgrown this approach. The file consists of a header, the
// particles in task order, and the header again as a trailer. Any number of tasks can read it.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "restart.hpp"

namespace particles {
namespace {

constexpr std::int64_t piece = 4 * 1024 * 1024 / sizeof(Particle);  // particles per transfer
constexpr int tag = 7;

class SingleFileWay : public RestartWay {
 public:
  explicit SingleFileWay(MPI_Comm world) : world_(world) {
    MPI_Comm_rank(world, &rank_);
    MPI_Comm_size(world, &tasks_);
  }

  std::string name() const override { return "single"; }
  std::string suffix() const override { return "single"; }
  std::string first_file() const override { return "single"; }

  bool write(const std::string& path, const RestartHeader& header,
             const std::vector<Particle>& particles) override {
    RestartHeader whole = header;
    whole.count = header.total;
    MPI_Reduce(&header.digest.sum, &whole.digest.sum, 1, MPI_UINT64_T, MPI_SUM, 0, world_);
    MPI_Reduce(&header.digest.xor_, &whole.digest.xor_, 1, MPI_UINT64_T, MPI_BXOR, 0, world_);
    if (rank_ != 0) {
      send_all(particles);
      return true;
    }
    std::FILE* file = std::fopen(path.c_str(), "wb");
    bool ok = put(file, &whole, sizeof whole);
    ok = put(file, particles.data(), particles.size() * sizeof(Particle)) && ok;
    for (int task = 1; task < tasks_; ++task) ok = receive_and_put(file, task) && ok;
    ok = put(file, &whole, sizeof whole) && ok;
    return file && std::fclose(file) == 0 && ok;
  }

  bool read(const std::string& path, RestartPart& part) override {
    std::FILE* file = nullptr;
    RestartHeader whole;
    bool ok = true;
    if (rank_ == 0) {
      file = std::fopen(path.c_str(), "rb");
      ok = get(file, &whole, sizeof whole) && whole.is_valid() && whole.count == whole.total &&
           has_trailer(file, whole);
    }
    MPI_Bcast(&ok, 1, MPI_CXX_BOOL, 0, world_);
    if (ok) {
      MPI_Bcast(&whole, sizeof whole, MPI_BYTE, 0, world_);
      ok = rank_ == 0 ? get_and_send(file, whole.total, part.particles)
                      : receive_all(whole.total, part.particles);
      part.header = whole;
      part.header.count = static_cast<std::int64_t>(part.particles.size());
      if (rank_ != 0) part.header.digest = {};  // task 0 has the digest of all particles
    }
    if (file) std::fclose(file);
    return ok;
  }

 private:
  // Writes to `file`, which may be null after a failure: the exchange with the other tasks must continue.
  static bool put(std::FILE* file, const void* data, std::size_t bytes) {
    return file && std::fwrite(data, 1, bytes, file) == bytes;
  }
  static bool get(std::FILE* file, void* data, std::size_t bytes) {
    return file && std::fread(data, 1, bytes, file) == bytes;
  }

  static bool has_trailer(std::FILE* file, const RestartHeader& whole) {
    RestartHeader trailer;
    const auto data = static_cast<long>(whole.total * static_cast<std::int64_t>(sizeof(Particle)));
    return std::fseek(file, data, SEEK_CUR) == 0 && get(file, &trailer, sizeof trailer) &&
           std::memcmp(&trailer, &whole, sizeof whole) == 0 &&
           std::fseek(file, static_cast<long>(sizeof whole), SEEK_SET) == 0;
  }

  static int bytes_of(std::int64_t particles) {
    return static_cast<int>(particles * std::int64_t{sizeof(Particle)});
  }

  void send_all(const std::vector<Particle>& particles) const {
    const auto count = static_cast<std::int64_t>(particles.size());
    MPI_Send(&count, 1, MPI_INT64_T, 0, tag, world_);
    for (std::int64_t at = 0; at < count; at += piece)
      MPI_Ssend(particles.data() + at, bytes_of(std::min(piece, count - at)), MPI_BYTE, 0, tag, world_);
  }

  bool receive_and_put(std::FILE* file, int task) const {
    std::int64_t count = 0;
    MPI_Recv(&count, 1, MPI_INT64_T, task, tag, world_, MPI_STATUS_IGNORE);
    std::vector<Particle> buffer(static_cast<std::size_t>(std::min(piece, count)));
    bool ok = true;
    for (std::int64_t at = 0; at < count; at += piece) {
      const std::int64_t n = std::min(piece, count - at);
      MPI_Recv(buffer.data(), bytes_of(n), MPI_BYTE, task, tag, world_, MPI_STATUS_IGNORE);
      ok = put(file, buffer.data(), static_cast<std::size_t>(bytes_of(n))) && ok;
    }
    return ok;
  }

  // Returns the first particle of a task: task t reads particles [share(t), share(t + 1)) of the file.
  std::int64_t share(std::int64_t total, int task) const {
    return total / tasks_ * task + total % tasks_ * task / tasks_;
  }

  bool get_and_send(std::FILE* file, std::int64_t total, std::vector<Particle>& own) const {
    own.resize(static_cast<std::size_t>(share(total, 1)));
    bool ok = get(file, own.data(), own.size() * sizeof(Particle));
    std::vector<Particle> buffer(static_cast<std::size_t>(std::min(piece, total)));
    for (int task = 1; task < tasks_; ++task) {
      const std::int64_t end = share(total, task + 1);
      for (std::int64_t at = share(total, task); at < end; at += piece) {
        const std::int64_t n = std::min(piece, end - at);
        ok = get(file, buffer.data(), static_cast<std::size_t>(bytes_of(n))) && ok;
        MPI_Send(buffer.data(), bytes_of(n), MPI_BYTE, task, tag, world_);
      }
    }
    return ok;
  }

  bool receive_all(std::int64_t total, std::vector<Particle>& own) const {
    const std::int64_t count = share(total, rank_ + 1) - share(total, rank_);
    own.resize(static_cast<std::size_t>(count));
    for (std::int64_t at = 0; at < count; at += piece)
      MPI_Recv(own.data() + at, bytes_of(std::min(piece, count - at)), MPI_BYTE, 0, tag, world_,
               MPI_STATUS_IGNORE);
    return true;
  }

  MPI_Comm world_;
  int rank_ = 0;
  int tasks_ = 0;
};

}  // namespace

std::unique_ptr<RestartWay> single_file_way(MPI_Comm world) { return std::make_unique<SingleFileWay>(world); }

}  // namespace particles
